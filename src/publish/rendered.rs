//! A release as the bytes that leave: every file once, whoever publishes it.

use crate::engine::{Release, ReleaseId};
use crate::model::Digest;
use crate::protocol::Render;

use super::contents::{Content, PATHS_CSV, contents};
use super::package::package;
use super::{Error, Settings, signature};

/// The files of a release, and its manifest.
pub struct Rendered {
    pub(super) id: ReleaseId,
    /// The directory it goes into.
    pub(super) name: String,
    pub(super) files: Vec<Content>,
    pub(super) manifest: Vec<u8>,
    /// The line of SIGNATURE.
    pub(super) signature: Vec<u8>,
}

impl Rendered {
    /// The digest of the rows: the SHA-256 of paths.csv.
    pub fn digest(&self) -> Digest {
        self.paths_csv().written.sha256
    }

    pub(super) fn paths_csv(&self) -> &Content {
        let found = self.files.iter().find(|file| file.name == PATHS_CSV);
        found.expect("every release has its rows")
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
    let files = contents(release, settings)?;
    let manifest = package(release, settings, &files).text();
    let id = release.id().clone();
    let signature = signature::line(&settings.signer, &manifest);
    Ok(Rendered { name: id.directory().to_owned(), id, files, manifest, signature })
}
