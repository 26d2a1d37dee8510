//! `tapveil stations`: the stations of a GTFS feed, as a file that can be read and edited.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Failure;
use super::failure::{remark, say};
use crate::gtfs::{Choice, Network};
use crate::model::Station;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The feed: a zip file or a directory
    #[arg(long, value_name = "PATH")]
    gtfs: PathBuf,
    /// Only stations that routes of these types serve (0 tram, 1 metro, 2 rail, 3 bus, …)
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    route_types: Vec<u32>,
    /// Only stations that have platforms or entrances below them
    #[arg(long)]
    only_stations: bool,
    /// Write the ids of platforms and entrances there, each with its station: for feed.aliases
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Write station, line and network there as a tree: id,parent
    #[arg(long, value_name = "FILE")]
    taxonomy: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { gtfs, route_types, only_stations, aliases, taxonomy } = arguments;
    let choice = Choice { route_types: route_types.clone(), only_stations: *only_stations };
    let network =
        Network::read(gtfs, &choice).map_err(|error| Failure::new(error.kind(), error))?;
    for note in &network.notes {
        remark(&format!("note: {note}"));
    }
    if let Some(path) = aliases {
        let rows = network.parts.iter().map(|(part, station)| [part.as_str(), station.as_str()]);
        write(path, &table(["alias", "station"], rows))?;
    }
    if let Some(path) = taxonomy {
        write(path, &tree(&network))?;
    }
    let rows = network.stations.iter().map(|station| {
        let Station { id, name, lat, lon, line } = station;
        [id.as_str(), name, lat, lon, line]
    });
    say(table(["id", "name", "lat", "lon", "line"], rows).trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Every station below its line, every line below its network. A name of a line may be the name of a station, too:
/// names of groups say what they are.
fn tree(network: &Network) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("line {line}") };
    let above = |network: &str| {
        if network.is_empty() { String::new() } else { format!("network {network}") }
    };
    let networks: BTreeMap<&str, &str> =
        network.networks.values().map(|name| (name.as_str(), "")).collect();
    let mut rows: Vec<[String; 2]> = networks
        .keys()
        .filter(|name| !name.is_empty())
        .map(|name| [above(name), String::new()])
        .collect();
    rows.extend(network.networks.iter().map(|(name, network)| [line(name), above(network)]));
    rows.extend(network.stations.iter().map(|station| [station.id.clone(), line(&station.line)]));
    table(["id", "parent"], rows.iter().map(|[id, parent]| [id.as_str(), parent.as_str()]))
}

fn table<'a, const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [&'a str; N]>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).expect("memory takes any text");
    for row in rows {
        writer.write_record(row).expect("memory takes any text");
    }
    String::from_utf8(writer.into_inner().expect("memory takes any text")).expect("text stays text")
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::external(format!("cannot write {}: {error}", path.display())))
}
