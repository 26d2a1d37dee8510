//! catalog.jsonld: the catalog for data portals, in the words of DCAT 3. It says what catalog.json says.

use serde_json::{Value, json};

use super::catalog::Catalog;

/// The file.
pub(super) const DCAT: &str = "catalog.jsonld";

/// The catalog as JSON-LD. Addresses are relative: wherever the catalog lies, the releases lie beside it.
pub(super) fn dcat(catalog: &Catalog) -> Vec<u8> {
    let dataset = |entry: &super::catalog::Entry| {
        let file = |name: &str, media: &str, title: &str| {
            json!({
                "@type": "dcat:Distribution", "dct:title": title, "dcat:mediaType": media,
                "dcat:accessURL": { "@id": format!("{}/", entry.name) },
                "dcat:downloadURL": { "@id": format!("{}/{name}", entry.name) },
            })
        };
        let mut dataset = json!({
            "@id": format!("{}/datapackage.json", entry.name),
            "@type": "dcat:Dataset",
            "dct:title": format!("Private passenger trips, {}", entry.name),
            "dct:description": "Trips with a guarantee for every passenger; datapackage.json says which one, and what it cost",
            "dcat:distribution": [
                file("datapackage.json", "application/json", "What is promised, and every file with its hash"),
                file("paths.csv", "text/csv", "Paths with counts"),
                file("paths.parquet", "application/vnd.apache.parquet", "Paths with counts, as columns"),
                file("locations.geojson", "application/geo+json", "Stations"),
                file("report.html", "text/html", "One page for planners"),
            ],
        });
        let more: [(&str, Option<Value>); 4] = [
            ("dct:identifier", entry.release_id.as_ref().map(|id| json!(id))),
            ("dcat:version", entry.revision.map(|revision| json!(revision.to_string()))),
            ("dct:isReplacedBy", entry.superseded_by.as_ref().map(|id| json!(id))),
            (
                "dct:temporal",
                entry.window.as_ref().map(|window| {
                    json!({ "@type": "dct:PeriodOfTime", "dcat:startDate": moment(&window.start), "dcat:endDate": moment(&window.end) })
                }),
            ),
        ];
        for (name, value) in more {
            if let Some(value) = value {
                dataset[name] = value;
            }
        }
        dataset
    };
    let datasets: Vec<Value> =
        catalog.releases.iter().filter(|entry| entry.unreadable.is_none()).map(dataset).collect();
    let page = json!({
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
        },
        "@id": "catalog.jsonld", "@type": "dcat:Catalog",
        "dct:title": "Private passenger trips", "dcat:dataset": datasets,
    });
    format!("{page:#}\n").into_bytes()
}

/// The releases that a page lists; `None` if it is no page.
pub(super) fn named(page: &[u8]) -> Option<Vec<String>> {
    let page: Value = serde_json::from_slice(page).ok()?;
    let name = |dataset: &Value| {
        let id = dataset.get("@id")?.as_str()?;
        id.strip_suffix("/datapackage.json").map(str::to_owned)
    };
    page.get("dcat:dataset")?.as_array()?.iter().map(name).collect()
}

fn moment(text: &str) -> Value {
    json!({ "@type": "xsd:dateTime", "@value": text })
}
