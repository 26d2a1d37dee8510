//! A configuration as a record of the Differential Privacy Deployments Registry: its fields, filled in as far as a
//! configuration knows them. JSON, which is YAML too.

use serde_json::{Value, json};

use super::Settings;
use super::odds::window_length;
use crate::guarantee::Guarantee;

/// The record; `None` for an engine that promises no differential privacy.
pub fn deployment_record(settings: &Settings) -> Option<Value> {
    let Guarantee::Differential { epsilon_micro, unit, neighbouring } = settings.engine.guarantee()
    else {
        return None;
    };
    let (release, engine) = (&settings.release, settings.engine.describe());
    let zone = settings.calendar.zone().iana_name().unwrap_or("UTC");
    let said = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    let lifetime = settings.caps.lifetime.map(|cap| format!("at most epsilon {cap} ever"));
    let horizon = settings.caps.horizon.map(|horizon| {
        format!("at most epsilon {} over any {} releases in a row", horizon.cap, horizon.windows)
    });
    let caps: Vec<String> = [lifetime, horizon].into_iter().flatten().collect();
    let caps = if caps.is_empty() { "no cap over releases".to_owned() } else { caps.join("; ") };
    let length = window_length(settings.calendar.length());
    Some(json!({
        "url_slug": settings.feed.id.to_lowercase(),
        "status": "Draft",
        "deployment": {
            "product": {
                "name": release.title,
                "data_curators": said(&release.contact).into_iter().collect::<Vec<_>>(),
                "intended_use": said(&release.purpose),
                "data_product_type": "Synthetic data and summary statistics",
                "data_product_region": zone,
                "description": format!(
                    "Trips of public transport passengers between {} stations, one release for every window of {length}",
                    settings.stations.len()
                ),
                "publication_date": null,
            },
            "dp_flavor": { "name": "Pure DP" },
            "privacy_loss": {
                "privacy_unit": "Card-window-level",
                "privacy_unit_description": format!("{unit}; neighbouring: {neighbouring}"),
                "privacy_parameters": { "epsilon": epsilon_micro.micro() as f64 / 1e6 },
                "privacy_parameters_description": format!(
                    "epsilon {epsilon_micro} for each release; releases add up for a card that travels in all of them; {caps}"
                ),
            },
            "model": {
                "model_name": "Central",
                "release_type": "Multiple releases",
                "release_type_description": format!("One release for every window of {length}"),
                "access_type": "Non-interactive",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning":
                    "Stations, slots, windows and parameters come from the configuration; what follows from data is paid for",
                "mechanisms": format!(
                    "Discrete Laplace with exact arithmetic; engine {}, revision {} (tapveil)", engine.name, engine.version
                ),
                "justification": format!("Proof and audit are part of the program; statement {}", super::Statement::of(settings).digest),
            },
            "resources": { "sources": said(&release.contact), "registry_authors": [] },
        },
    }))
}
