//! A release as the bytes that leave: every file once, whoever publishes it.

use std::io::{self, Write};

use crate::engine::{Release, ReleaseId};
use crate::model::Digest;
use crate::protocol::Render;

use super::disk::{Hashed, Written};
use super::package::package;
use super::paths::{self, Paths};
use super::{Error, Settings, parquet, recipient};

/// The files of a release beside its manifest, in their fixed order, and the manifest.
pub struct Rendered {
    pub(super) id: ReleaseId,
    /// The window's name: the directory it goes into.
    pub(super) name: String,
    pub(super) files: [File; 5],
    pub(super) manifest: Vec<u8>,
}

/// The bytes of one file.
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) written: Written,
}

impl Rendered {
    /// The digest of the rows: the SHA-256 of paths.csv.
    pub fn digest(&self) -> Digest {
        self.files[0].written.sha256
    }
}

/// Renders releases with the words of a configuration.
pub struct Renderer(pub Settings);

impl Render for Renderer {
    type Rendered = Rendered;

    fn render(&self, release: &Release) -> Result<Rendered, String> {
        render(release, &self.0).map_err(|error| error.to_string())
    }

    fn digest(&self, rendered: &Rendered) -> Digest {
        rendered.digest()
    }
}

/// Renders a release. Refuses rows that no release may have.
pub fn render(release: &Release, settings: &Settings) -> Result<Rendered, Error> {
    paths::check(release, &settings.stations)?;
    let paths = Paths::new(release, &settings.stations);
    let stations = paths.stations();
    // The rows as text and the rows as columns take about the same time.
    let (rows, table) = rayon::join(
        || file(|out| paths.write_csv(out)),
        || file(|out| parquet::write(&paths, out)),
    );
    let by_id: Vec<&str> = stations.iter().map(|station| station.id.as_str()).collect();
    let flows = file(|out| paths.flows().write_csv(out, |ix| by_id[ix as usize]));
    let locations = file(|out| {
        let fields = stations.iter().map(|at| [&at.id, &at.name, &at.lat, &at.lon]);
        paths::write_locations(out, fields)
    });
    let readme = file(|out| out.write_all(recipient::readme(release, settings).as_bytes()));
    let files = [rows, table, flows, locations, readme];
    let manifest =
        package(release, settings, &files.each_ref().map(|one| one.written.clone())).text();
    Ok(Rendered { id: release.id().clone(), name: release.window().name(), files, manifest })
}

fn file(fill: impl FnOnce(&mut Hashed<Vec<u8>>) -> io::Result<()>) -> File {
    let mut hashed = Hashed::new(Vec::new());
    fill(&mut hashed).expect("memory is always writable");
    let (written, bytes) = hashed.finish();
    File { bytes, written }
}
