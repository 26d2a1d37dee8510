//! The service over TLS, with users that have exactly the rights of `deploy/kafka/acls`.

use std::fs;
use std::path::{Path, PathBuf};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::arrivals::PATIENCE;
use crate::broker::Own;
use crate::service::{Feed, assert_same_paths, batches};
use crate::support::run;

/// A secure broker and a feed with the default names, which the rights are for.
struct Secure {
    broker: Own,
    feed: Feed,
}

impl Secure {
    fn start() -> Option<Self> {
        let broker = Own::start(&["--secure"])?;
        let feed = Feed::history(&broker.bootstrap, 300);
        let name = &feed.name;
        for (from, to) in [
            (format!("group = \"{name}\""), "group = \"tapveil\"\nconnect_timeout = \"5s\""),
            (format!("\"{name}.taps\""), "\"taps\""),
            (format!("\"{name}.segments\""), "\"tapveil.segments\""),
            (format!("\"{name}.ledger\""), "\"tapveil.ledger\""),
            (format!("\"{name}.releases\""), "\"releases\""),
            (format!("\"{name}.rejects\""), "\"tapveil.rejects\""),
        ] {
            feed.edit(&from, to);
        }
        let secure = Self { broker, feed };
        secure.make_topics();
        Some(secure)
    }

    fn file(&self, name: &str) -> String {
        self.broker.dir.join("secure").join(name).to_str().unwrap().to_owned()
    }

    /// As an administrator does beforehand.
    fn make_topics(&self) {
        let password = fs::read_to_string(self.file("admin.password")).unwrap();
        let admin: AdminClient<DefaultClientContext> = ClientConfig::new()
            .set("bootstrap.servers", &self.broker.bootstrap)
            .set("security.protocol", "SASL_SSL")
            .set("ssl.ca.location", self.file("ca.pem"))
            .set("sasl.mechanism", "SCRAM-SHA-512")
            .set("sasl.username", "admin")
            .set("sasl.password", password.trim())
            .create()
            .unwrap();
        let new = |name, partitions| NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        let kept = |name| new(name, 1).set("retention.ms", "-1").set("retention.bytes", "-1");
        let topics = [
            new("taps", 4).set("message.timestamp.type", "LogAppendTime"),
            kept("tapveil.segments"),
            kept("tapveil.ledger"),
            kept("releases"),
            new("tapveil.rejects", 1),
        ];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let made = runtime.block_on(admin.create_topics(&topics, &AdminOptions::new()));
        for one in made.unwrap() {
            one.unwrap();
        }
    }

    /// The configuration of a user, with a password and a CA that may be the wrong ones.
    fn config(&self, user: &str, password: &str, ca: &str) -> PathBuf {
        let text = fs::read_to_string(self.feed.config()).unwrap();
        let path = self.feed.path(&format!("city/{user}-{password}-{ca}.toml"));
        let (password, ca) = (self.file(&format!("{password}.password")), self.file(ca));
        let properties = format!(
            "[kafka.properties]\n\"security.protocol\" = \"SASL_SSL\"\n\"ssl.ca.location\" = \"{ca}\"\n\
             \"sasl.mechanism\" = \"SCRAM-SHA-512\"\n\"sasl.username\" = \"{user}\"\n\
             \"sasl.password_file\" = \"{password}\"\n"
        );
        fs::write(&path, text + &properties).unwrap();
        path
    }

    fn user(&self, user: &str) -> PathBuf {
        self.config(user, user, "ca.pem")
    }

    /// Takes one right away.
    fn revoke(&self, user: &str, topic: &str, operation: &str) {
        let user = format!("User:{user}");
        let what = ["AclCommand", "--remove", "--force", "--allow-principal", &user];
        let which = ["--topic", topic, "--operation", operation];
        self.broker.local(&["tool"], &[&what[..], &which].concat());
    }

    /// Insists that a worker ends with exit code 3 and one sentence that holds these words.
    #[track_caller]
    fn refuses(&self, config: &Path, role: &str, words: &[&str]) {
        let mut worker = self.feed.worker_of(config, role, None);
        let ended = worker.wait(PATIENCE);
        let said = worker.said();
        assert_eq!(ended, Some(3), "{said}");
        let complaints: Vec<&str> =
            said.lines().filter(|line| line.starts_with("tapveil: ")).collect();
        assert_eq!(complaints.len(), 1, "{said}");
        for word in words {
            assert!(complaints[0].contains(word), "{word:?} is not in:\n{said}");
        }
    }
}

#[test]
fn the_rights_of_the_table_are_enough_and_every_refusal_has_its_true_reason() {
    let Some(secure) = Secure::start() else { return };
    let feed = &secure.feed;
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let taps = text(&feed.taps());
    run(["replay", "--by-time", "--taps", &taps, "-c", &text(&secure.user("feed"))]).code(0);

    let mut ingest = feed.worker_of(&secure.user("ingest"), "ingest", None);
    let mut release = feed.worker_of(&secure.user("release"), "release", None);
    assert_eq!(release.wait(PATIENCE), Some(0), "{}\n{}", release.said(), ingest.said());
    ingest.signal("INT");
    assert_eq!(ingest.wait(PATIENCE), Some(0), "{}", ingest.said());
    for worker in [&ingest, &release] {
        let said = worker.said();
        assert!(!said.contains("may not") && !said.contains("could not"), "{said}");
    }
    let sanitized = feed.sanitized();
    let release_user = text(&secure.user("release"));
    let ledger = run(["ledger", "show", "--topic", "--json", "-c", &release_user]).code(0).json();
    assert_eq!(batches(&ledger), feed.sanitized_batches());
    let exported = feed.path("exported");
    let recipient = text(&secure.user("recipient"));
    run(["export", "--out", exported.to_str().unwrap(), "-c", &recipient]).code(0);
    assert_same_paths(&exported, &sanitized);

    let wrong = secure.config("ingest", "release", "ca.pem");
    secure.refuses(&wrong, "ingest", &["Authentication failed", "invalid credentials"]);
    let unknown = secure.config("ingest", "ingest", "unknown-ca.pem");
    secure.refuses(&unknown, "ingest", &["certificate verify failed"]);
    secure.revoke("ingest", "tapveil.ledger", "Read");
    let ledger = ["tapveil.ledger", "topic authorization failed", "ACLS.md"];
    secure.refuses(&secure.user("ingest"), "ingest", &ledger);
    secure.revoke("release", "releases", "Read");
    secure.revoke("release", "releases", "Write");
    let releases = ["the topic releases is missing (or this user may not see it)", "authorization"];
    secure.refuses(&secure.user("release"), "release", &releases);
}
