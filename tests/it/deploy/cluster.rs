//! `deploy/kubernetes`: objects that fit together, and the step that prepares a pod, run for real.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{bash, documents, items, keys, read, text, yaml};
use crate::support::{City, run};

const ROLES: [&str; 2] = ["ingest", "release"];

/// Every object that `kubectl apply -k` would send.
fn objects() -> Vec<Value> {
    let list = yaml("kubernetes/kustomization.yaml");
    items(&list["resources"])
        .flat_map(|file| documents(&format!("kubernetes/{}", text(file))))
        .collect()
}

fn of_kind(kind: &str) -> Vec<Value> {
    let found: Vec<Value> = objects().into_iter().filter(|object| object["kind"] == kind).collect();
    assert!(!found.is_empty(), "there is a {kind}");
    found
}

/// Whether a selector with these labels finds something with those.
fn finds(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.as_object().unwrap_or_else(|| panic!("{selector} selects by labels"));
    !wanted.is_empty() && wanted.iter().all(|(name, value)| labels[name] == *value)
}

#[test]
fn every_object_has_its_kind_its_version_and_a_name_of_its_own() {
    let versions = [
        ("ConfigMap", "v1"),
        ("Service", "v1"),
        ("StatefulSet", "apps/v1"),
        ("PodDisruptionBudget", "policy/v1"),
        ("NetworkPolicy", "networking.k8s.io/v1"),
        ("ServiceMonitor", "monitoring.coreos.com/v1"),
    ];
    let mut seen = BTreeSet::new();
    for object in objects() {
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let version = versions.iter().find(|(known, _)| *known == kind);
        assert_eq!(version.map(|(_, version)| *version), object["apiVersion"].as_str(), "{kind}");
        let body = if kind == "ConfigMap" { "data" } else { "spec" };
        assert!(object[body].is_object(), "{kind} {name} has {body}");
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/name"], "tapveil", "{name}");
        assert!(seen.insert((kind.to_owned(), name.to_owned())), "{kind} {name} is there twice");
    }
    let kinds: BTreeSet<&str> = seen.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, versions.map(|(kind, _)| kind).into());
    let listed = yaml("kubernetes/kustomization.yaml");
    let files = fs::read_dir(super::path("kubernetes")).unwrap().count();
    assert_eq!(items(&listed["resources"]).count() + 1, files, "every file is in the list");
}

#[test]
fn selectors_find_the_pods_of_their_role_and_no_other() {
    let sets = of_kind("StatefulSet");
    assert_eq!(sets.len(), ROLES.len());
    for (set, role) in sets.iter().zip(ROLES) {
        let labels = &set["spec"]["template"]["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/component"], role);
        let finds_its_own = |selector: &Value| {
            let found = sets
                .iter()
                .filter(|set| finds(selector, &set["spec"]["template"]["metadata"]["labels"]));
            assert_eq!(found.count(), 1, "{selector}");
            assert!(finds(selector, labels), "{selector}");
        };
        finds_its_own(&set["spec"]["selector"]["matchLabels"]);
        let spread = &set["spec"]["template"]["spec"]["topologySpreadConstraints"][0];
        finds_its_own(&spread["labelSelector"]["matchLabels"]);
        let same_name = |object: &Value| object["metadata"]["name"] == set["metadata"]["name"];
        let guard = of_kind("PodDisruptionBudget").into_iter().find(same_name).unwrap();
        finds_its_own(&guard["spec"]["selector"]["matchLabels"]);
        assert_eq!(guard["spec"]["maxUnavailable"], 1);
        assert!(set["spec"]["replicas"].as_u64().unwrap() > 1, "one can go while others stay");
        let service = of_kind("Service").into_iter().find(same_name).unwrap();
        assert_eq!(set["spec"]["serviceName"], service["metadata"]["name"]);
        assert_eq!(service["spec"]["clusterIP"], "None", "headless");
        finds_its_own(&service["spec"]["selector"]);
    }
    for policy in of_kind("NetworkPolicy") {
        let selector = &policy["spec"]["podSelector"]["matchLabels"];
        for set in &sets {
            assert!(finds(selector, &set["spec"]["template"]["metadata"]["labels"]));
        }
    }
}

#[test]
fn every_container_is_locked_down_and_mounts_what_there_is() {
    for set in of_kind("StatefulSet") {
        let pod = &set["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert!(pod["terminationGracePeriodSeconds"].as_u64() >= Some(60), "time to drain");
        let volumes: BTreeSet<&str> =
            items(&pod["volumes"]).map(|one| text(&one["name"])).collect();
        let mut mounted = BTreeSet::new();
        for container in items(&pod["initContainers"]).chain(items(&pod["containers"])) {
            let locked = &container["securityContext"];
            assert_eq!(locked["allowPrivilegeEscalation"], false);
            assert_eq!(locked["readOnlyRootFilesystem"], true);
            assert_eq!(locked["capabilities"]["drop"][0], "ALL");
            mounted.extend(items(&container["volumeMounts"]).map(|one| text(&one["name"])));
        }
        assert_eq!(mounted, volumes, "what is mounted exists, and what exists is mounted");
        let secrets = items(&pod["volumes"]).filter(|volume| volume["secret"].is_object());
        assert_eq!(secrets.count(), 2);
    }
    assert!(!read("kubernetes/ingest.yaml").contains("stringData"), "no secret is shipped");
}

#[test]
fn probes_and_the_monitor_ask_a_port_that_is_served() {
    let map = of_kind("ConfigMap").remove(0);
    let toml = text(&map["data"]["tapveil.toml"]);
    for set in of_kind("StatefulSet") {
        let container = &set["spec"]["template"]["spec"]["containers"][0];
        let port = &container["ports"][0];
        assert!(toml.contains(&format!("listen = \"0.0.0.0:{}\"", port["containerPort"])));
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            assert_eq!(container[probe]["httpGet"]["path"], path);
            assert_eq!(container[probe]["httpGet"]["port"], port["name"]);
        }
    }
    let monitor = of_kind("ServiceMonitor").remove(0);
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["path"], "/metrics");
    let token = text(&endpoint["authorization"]["credentials"]["key"]);
    assert!(toml.contains(&format!("token_file = \"{token}\"")));
    for service in of_kind("Service") {
        let labels = &service["metadata"]["labels"];
        assert!(finds(&monitor["spec"]["selector"]["matchLabels"], labels));
        assert_eq!(service["spec"]["ports"][0]["name"], endpoint["port"]);
        let job = &labels[text(&monitor["spec"]["jobLabel"])];
        assert_eq!(*job, yaml("prometheus/prometheus.yml")["scrape_configs"][0]["job_name"]);
    }
}

/// The init container's own script, with the mounts of a pod as folders here: the configuration it writes is good,
/// names the pod, and the secret is for its user alone although it was mounted for a group.
#[test]
fn the_init_container_makes_a_good_configuration() {
    for (set, role) in of_kind("StatefulSet").iter().zip(ROLES) {
        let city = City::generated(200);
        let at = city.path("");
        let map = of_kind("ConfigMap").remove(0);
        for folder in ["run/tapveil", "config", "stations", "secrets/feed", "secrets/kafka"] {
            fs::create_dir_all(at.join("pod").join(folder)).unwrap();
        }
        let put = |name: &str, bytes: &[u8]| {
            let path = at.join("pod").join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        };
        put("stations/stations.csv", &fs::read(city.path("stations.csv")).unwrap());
        for file in ["tapveil.secret", "tapveil.ledger"] {
            put(&format!("secrets/feed/{file}"), &fs::read(city.path(file)).unwrap());
        }
        put("secrets/feed/tapveil.token", b"a-word-of-16-letters\n");
        put("secrets/kafka/kafka.password", b"a password\n");
        put("secrets/kafka/ca.pem", b"a certificate\n");
        let pod = at.join("pod").display().to_string();
        let here = |text: &str| {
            ["/run/tapveil", "/secrets/", "/config/", "/stations/stations.csv"]
                .iter()
                .fold(text.to_owned(), |text, place| text.replace(place, &format!("{pod}{place}")))
        };
        put("config/tapveil.toml", here(text(&map["data"]["tapveil.toml"])).as_bytes());
        let init = &set["spec"]["template"]["spec"]["initContainers"][0];
        let variables = &init["env"][0];
        assert_eq!(variables["valueFrom"]["fieldRef"]["fieldPath"], "metadata.name");
        let name = format!("tapveil-{role}-1");
        let script = here(text(&init["args"][0]));
        let checked = bash(&script, &[(text(&variables["name"]), name.as_str())]).code(0);
        assert!(checked.out.contains(&format!("instance {name}")), "{}", checked.out);
        assert!(checked.out.contains(&format!("sasl.username        {role}")), "{}", checked.out);
        let secret = at.join("pod/run/tapveil/tapveil.secret");
        assert_eq!(fs::metadata(secret).unwrap().permissions().mode() & 0o777, 0o600);
        let container = &set["spec"]["template"]["spec"]["containers"][0];
        let arguments: Vec<&str> = items(&container["args"]).map(text).collect();
        assert_eq!(arguments[..3], ["run", "-c", "/run/tapveil/tapveil.toml"]);
        assert_eq!(arguments[3..], ["--role", role]);
        run(arguments.iter().copied().chain(["--help"])).code(0);
        assert!(keys(&init["securityContext"]).contains("readOnlyRootFilesystem"));
    }
}
