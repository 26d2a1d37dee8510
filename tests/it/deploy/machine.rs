//! The image, compose and the systemd units: they parse, fit together, and what they run works.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use serde_json::Value;

use super::{bash, items, keys, path, read, text, yaml};
use crate::support::{Run, program, run, skipped};

#[test]
fn compose_mounts_files_that_exist_and_waits_for_services_that_exist() {
    let compose = yaml("compose.yaml");
    let (services, volumes) = (&compose["services"], keys(&compose["volumes"]));
    let wanted = ["feed", "grafana", "kafka", "prepare", "prometheus", "tapveil"];
    assert_eq!(keys(services), wanted.into());
    let mut used = BTreeSet::new();
    for (name, service) in services.as_object().unwrap() {
        assert!(service["image"].is_string(), "{name} has an image");
        for mount in items(&service["volumes"]).map(text) {
            let (from, to) = mount.split_once(':').unwrap();
            assert!(to.starts_with('/'), "{mount}");
            match from.strip_prefix("./") {
                Some(file) => assert!(path(file).exists() && to.ends_with(":ro"), "{mount}"),
                None => _ = used.insert(from),
            }
        }
        let waits = &service["depends_on"];
        let waits = keys(waits).into_iter().chain(items(waits).map(text));
        waits.for_each(|other| assert!(keys(services).contains(other), "{name} waits for {other}"));
        for port in items(&service["ports"]).map(text) {
            assert!(port.starts_with("127.0.0.1:"), "{name} is for this machine alone: {port}");
        }
    }
    assert_eq!(used, volumes);
    for ours in ["prepare", "tapveil", "feed"] {
        assert_eq!(services[ours]["read_only"], true, "{ours}");
        assert_eq!(services[ours]["user"], "10001:10001", "{ours}");
    }
    let kafka = text(&services["kafka"]["image"]);
    let version = kafka.strip_prefix("apache/kafka:").unwrap();
    assert!(read("kafka/pom.xml").contains(version), "the same Kafka as in the tests: {version}");
}

/// The preparing step, run here twice: the configuration it ends with is good, and nothing is made anew.
#[test]
fn compose_prepares_a_feed_once() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display().to_string();
    for folder in ["var/lib/tapveil", "var/lib/tapveil-token", "etc/tapveil"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let here = |text: &str| {
        text.replace("/var/lib/", &format!("{at}/var/lib/")).replace("/etc/", &format!("{at}/etc/"))
    };
    fs::write(dir.path().join("etc/tapveil/tapveil.toml"), here(&read("compose.toml"))).unwrap();
    let compose = yaml("compose.yaml");
    let prepare = &compose["services"]["prepare"];
    assert_eq!(items(&prepare["entrypoint"]).map(text).collect::<Vec<_>>(), ["bash", "-euc"]);
    let script = here(text(&prepare["command"][0])).replace("$$", "$").replace("20000", "200");
    let said = bash(&script, &[]).code(0);
    assert!(said.out.contains("the configuration is good"), "{}", said.out);
    let made = |name: &str| fs::read(dir.path().join("var/lib").join(name)).unwrap();
    let (secret, token) =
        (made("tapveil/feed/tapveil.secret"), made("tapveil-token/tapveil.token"));
    assert!(token.len() > 16);
    bash(&script, &[]).code(0);
    assert_eq!(secret, made("tapveil/feed/tapveil.secret"));
    assert_eq!(token, made("tapveil-token/tapveil.token"));
    for service in ["tapveil", "feed"] {
        let command = items(&compose["services"][service]["command"]).map(text);
        run(command.chain(["--help"])).code(0);
    }
}

/// The instructions of the Dockerfile, with lines that go on put together.
fn instructions() -> Vec<(String, String)> {
    let text = read("Dockerfile");
    let plain: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let joined = plain.join("\n").replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.trim().is_empty());
    let split = lines.map(|line| line.split_once(' ').unwrap_or_else(|| panic!("{line}")));
    split.map(|(word, rest)| (word.to_owned(), rest.trim().to_owned())).collect()
}

#[test]
fn the_image_is_made_in_two_stages_and_does_not_run_as_root() {
    let known = [
        "ARG",
        "FROM",
        "RUN",
        "WORKDIR",
        "COPY",
        "USER",
        "EXPOSE",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    ];
    let instructions = instructions();
    for (word, _) in &instructions {
        assert!(known.contains(&word.as_str()), "{word} is no instruction");
    }
    let all = |wanted: &str| -> Vec<&str> {
        let found = instructions.iter().filter(|(word, _)| word == wanted);
        found.map(|(_, rest)| rest.as_str()).collect()
    };
    let [build, runtime] = all("FROM")[..] else { panic!("two stages") };
    assert!(build.starts_with("rust:") && build.ends_with(" AS build"), "{build}");
    assert!(runtime.starts_with("debian:") && runtime.ends_with("-slim"), "{runtime}");
    assert!(all("COPY").iter().any(|copy| copy.starts_with("--from=build ")));
    assert_eq!(all("USER"), ["10001:10001"]);
    let cargo = fs::read_to_string(path("../Cargo.toml")).unwrap();
    let rust = all("ARG")[0].strip_prefix("RUST=").unwrap();
    assert!(cargo.contains(&format!("rust-version = \"{rust}\"")), "{rust}");
    assert!(
        all("RUN").iter().any(|run| run.contains("cargo build --release --locked --features tls"))
    );
    let ignored = fs::read_to_string(path("../.dockerignore")).unwrap();
    assert!(ignored.lines().any(|line| line == "**/*.secret"), "no secret goes into an image");
}

/// Answers one request with this status.
fn answer_once(status: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.extend(byte);
        }
        assert_eq!(request, b"GET /livez HTTP/1.0\r\n\r\n");
        stream.write_all(format!("HTTP/1.0 {status}\r\n\r\n").as_bytes()).unwrap();
    });
    port
}

#[test]
fn the_health_check_of_the_image_tells_good_from_bad() {
    let instructions = instructions();
    let (_, check) = instructions.iter().find(|(word, _)| word == "HEALTHCHECK").unwrap();
    let (_, command) = check.split_once("CMD ").unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    let ask = |port: u16| {
        let script = command[2].replace("9464", &port.to_string());
        let status =
            Command::new(&command[0]).args([&command[1], &script]).output().unwrap().status;
        status.success()
    };
    assert!(ask(answer_once("200 OK")));
    assert!(!ask(answer_once("503 Service Unavailable")));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(!ask(nobody));
}

const UNITS: [(&str, &str); 2] =
    [("tapveil.service", "tapveil.service"), ("tapveil@.service", "tapveil@ingest.service")];

/// The settings of a unit: section, name, value.
fn settings(unit: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in read(&format!("systemd/{unit}")).lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => section = name.to_owned(),
            None => {
                let (name, value) =
                    line.split_once('=').unwrap_or_else(|| panic!("{unit}: {line}"));
                found.push((section.clone(), name.to_owned(), value.to_owned()));
            }
        }
    }
    found
}

#[test]
fn the_units_start_again_only_where_that_helps_and_may_do_little() {
    for (unit, _) in UNITS {
        let settings = settings(unit);
        let get = |name: &str| {
            let found =
                settings.iter().find(|(section, key, _)| section == "Service" && key == name);
            found.map(|(_, _, value)| value.as_str()).unwrap_or_else(|| panic!("{unit}: {name}"))
        };
        assert_eq!(get("Restart"), "on-failure");
        assert_eq!(get("RestartPreventExitStatus"), "1 2");
        assert_eq!(get("KillSignal"), "SIGTERM");
        assert!(get("TimeoutStopSec").parse::<u32>().unwrap() >= 60);
        assert_eq!(get("User"), "tapveil");
        assert_eq!(get("LimitCORE"), "0");
        assert_eq!((get("ProtectSystem"), get("CapabilityBoundingSet")), ("strict", ""));
        for yes in ["NoNewPrivileges", "ProtectHome", "PrivateTmp", "MemoryDenyWriteExecute"] {
            assert_eq!(get(yes), "true", "{unit}: {yes}");
        }
        let start = get("ExecStart").replace("%i", "ingest");
        let arguments = start.strip_prefix("/usr/local/bin/tapveil ").unwrap().split(' ');
        run(arguments.chain(["--help"])).code(0);
    }
}

#[test]
fn systemd_takes_the_units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        skipped("systemd-analyze is missing (Debian package systemd): units are only parsed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bin = program().get_program().to_string_lossy().into_owned();
    for (unit, instance) in UNITS {
        let at = dir.path().join(instance);
        let unit = read(&format!("systemd/{unit}")).replace("/usr/local/bin/tapveil", &bin);
        fs::write(&at, unit).unwrap();
        let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&at).output();
        let said = Run::of(output.unwrap()).code(0);
        // Unknown settings are only complained about; other units of this machine are not our business.
        let about_us: Vec<&str> =
            said.err.lines().filter(|line| line.contains("tapveil")).collect();
        assert!(about_us.is_empty(), "{about_us:#?}");
    }
}

/// What the configuration of compose says is what the other files of compose rely on.
#[test]
fn compose_and_its_configuration_agree() {
    let config: String = read("compose.toml");
    let compose = yaml("compose.yaml");
    let services = &compose["services"];
    let listeners = text(&services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]);
    let brokers = listeners.strip_prefix("PLAINTEXT://").unwrap();
    assert!(config.contains(&format!("brokers = \"{brokers}\"")));
    let scrape: Value = yaml("prometheus/prometheus.yml");
    let target = text(&scrape["scrape_configs"][0]["static_configs"][0]["targets"][0]);
    let (host, port) = target.split_once(':').unwrap();
    assert!(keys(services).contains(host));
    assert!(config.contains(&format!("listen = \"0.0.0.0:{port}\"")));
    let token = text(&scrape["scrape_configs"][0]["authorization"]["credentials_file"]);
    let (folder, file) = token.split_once('/').unwrap();
    assert!(config.contains(&format!("token_file = \"/var/lib/tapveil-token/{file}\"")));
    let mounts: Vec<&str> = items(&services["prometheus"]["volumes"]).map(text).collect();
    assert!(mounts.contains(&format!("token:/etc/prometheus/{folder}:ro").as_str()), "{mounts:?}");
}
