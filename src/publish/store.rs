//! A release in an object store: every object is created and none replaced, the manifest last. Until the manifest is
//! there nobody takes the rest for a release, so a release appears once and whole.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientOptions, Error as StoreError, ObjectStore, ObjectStoreExt, PutMode,
    PutPayload, RetryConfig, UpdateVersion,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::engine::ReleaseId;
use crate::protocol::OutRecord;

use super::catalog::{CATALOG, CATALOG_MOST_BYTES, Catalog, Entry};
use super::dcat::{DCAT, dcat};
use super::manifest::{MANIFEST, MANIFEST_MOST_BYTES, Manifest};
use super::rendered::Rendered;
use super::signature::SIGNATURE;
use super::{Error, Sink, Standing};

/// One request takes at most so long.
const ANSWER: Duration = Duration::from_secs(30);
/// A store that does not answer is asked again for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Manifests that are read at the same time.
const AT_ONCE: usize = 16;
/// Others may write the catalog, too: it is read and written again so often.
const ATTEMPTS: usize = 8;

/// Puts releases into an object store.
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    /// Above all releases.
    prefix: Key,
    url: String,
    runtime: Runtime,
}

impl Objects {
    /// Touches nothing yet. Who we are stands where the store's own tools look: in the environment.
    pub fn new(url: &str) -> Result<Self, Error> {
        // TLS of all stores. A second store finds it there already.
        rustls::crypto::ring::default_provider().install_default().ok();
        let refuse = |what: String| Error::Store { action: "use", place: url.to_owned(), what };
        let (_, rest) = url.split_once("://").unwrap_or_default();
        let (_, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix =
            Key::parse(prefix.trim_matches('/')).map_err(|error| refuse(error.to_string()))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| refuse(error.to_string()))?;
        let store = store_of(url).map_err(|error| refuse(error.to_string()))?;
        Ok(Self { store, prefix, url: url.trim_end_matches('/').to_owned(), runtime })
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), |key, part| key.join(part))
    }

    fn failed(&self, action: &'static str, name: &str) -> impl Fn(StoreError) -> Error {
        let place = format!("{}/{name}", self.url);
        move |error| Error::Store { action, place: place.clone(), what: error.to_string() }
    }

    /// An object of at most so many bytes, with the version that it has; `None` if it is not there.
    fn get(&self, name: &str, most: u64) -> Result<Option<(Vec<u8>, UpdateVersion)>, Error> {
        let failed = self.failed("read", name);
        self.runtime.block_on(async {
            let found = match self.store.get(&self.key(name)).await {
                Ok(found) => found,
                Err(StoreError::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(failed(error)),
            };
            if found.meta.size > most {
                let (place, what) =
                    (format!("{}/{name}", self.url), format!("is longer than {most} bytes"));
                return Err(Error::Store { action: "read", place, what });
            }
            let version = UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            };
            Ok(Some((found.bytes().await.map_err(failed)?.to_vec(), version)))
        })
    }

    /// Creates an object. One that is there already must hold the same.
    fn create(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let key = self.key(name);
        let put =
            self.store.put_opts(&key, PutPayload::from(bytes.to_vec()), PutMode::Create.into());
        match self.runtime.block_on(put) {
            Ok(_) => Ok(()),
            // A store may say that an object is there because our own first try arrived and its answer did not.
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {
                match self.get(name, bytes.len() as u64)? {
                    Some((there, _)) if there == bytes => Ok(()),
                    _ => Err(Error::Foreign {
                        path: format!("{}/{name}", self.url),
                        what: "holds something else, and no object of a release is ever replaced".to_owned(),
                    }),
                }
            }
            Err(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => Err(Error::Store {
                action: "create",
                place: format!("{}/{name}", self.url),
                what: "the store cannot create an object only where there is none (If-None-Match): a release could be \
                       replaced there"
                    .to_owned(),
            }),
            Err(error) => Err(self.failed("write", name)(error)),
        }
    }

    /// Whether the same release stands there already. Another one is an error.
    fn is_there(&self, id: &ReleaseId) -> Result<bool, Error> {
        let name = format!("{}/{MANIFEST}", id.directory());
        let Some((text, _)) = self.get(&name, MANIFEST_MOST_BYTES)? else { return Ok(false) };
        let path = format!("{}/{}", self.url, id.directory());
        let found = Manifest::read(&text).map_err(|error| Error::Foreign {
            path: path.clone(),
            what: format!("holds no release of this format ({MANIFEST} {error})"),
        })?;
        let found = found.package.privacy.release_id;
        match found == id.as_str() {
            true => Ok(true),
            false => Err(Error::Occupied { path, found, wanted: id.as_str().to_owned() }),
        }
    }

    /// Names below the prefix that may be releases.
    fn names(&self) -> Result<Vec<String>, Error> {
        let listed = self.store.list_with_delimiter(Some(&self.prefix));
        let listed = self.runtime.block_on(listed).map_err(self.failed("list", ""))?;
        let name =
            |key: &Key| key.filename().map(str::to_owned).filter(|name| !name.starts_with('.'));
        Ok(listed.common_prefixes.iter().filter_map(name).collect())
    }

    /// The manifests of these releases; those that are not there are left out.
    fn manifests(&self, names: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let failed = self.failed("read", MANIFEST);
        self.runtime.block_on(async {
            let (mut waiting, mut running, mut found) =
                (names.into_iter(), JoinSet::new(), Vec::new());
            loop {
                while running.len() < AT_ONCE {
                    let Some(name) = waiting.next() else { break };
                    let (store, key) =
                        (self.store.clone(), self.key(&format!("{name}/{MANIFEST}")));
                    running.spawn(async move {
                        let text = match store.get(&key).await {
                            Ok(found) => found.bytes().await.map(|bytes| Some(bytes.to_vec())),
                            Err(StoreError::NotFound { .. }) => Ok(None),
                            Err(error) => Err(error),
                        };
                        (name, text)
                    });
                }
                match running.join_next().await {
                    None => return Ok(found),
                    Some(Ok((name, text))) => {
                        found.extend(text.map_err(&failed)?.map(|text| (name, text)))
                    }
                    Some(Err(error)) => {
                        let (place, what) = (self.url.clone(), error.to_string());
                        return Err(Error::Store { action: "read", place, what });
                    }
                }
            }
        })
    }

    /// Writes the catalog anew, unless it says all of it. Releases that it knows are not read again: they never change.
    fn write_catalog(&self) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let there = self.get(CATALOG, CATALOG_MOST_BYTES)?;
            let known = there.as_ref().and_then(|(text, _)| Catalog::read(text).ok());
            let mut entries = known.map(|(catalog, _)| catalog.releases).unwrap_or_default();
            let names: BTreeSet<String> = self.names()?.into_iter().collect();
            entries.retain(|entry| names.contains(&entry.name) && entry.unreadable.is_none());
            let is_new = |name: &String| !entries.iter().any(|entry| entry.name == *name);
            let new = self.manifests(names.into_iter().filter(is_new).collect())?;
            entries.extend(new.iter().map(|(name, text)| Entry::of_text(name, text)));
            let catalog = Catalog::new(entries);
            let text = catalog.text();
            if there.as_ref().is_some_and(|(there, _)| *there == text) {
                return Ok(());
            }
            if self.replace(CATALOG, &text, there.map(|(_, version)| version))? {
                let page = self.get(DCAT, CATALOG_MOST_BYTES)?.map(|(_, version)| version);
                // Another writer of the page knows at least as much.
                self.replace(DCAT, &dcat(&catalog), page)?;
                return Ok(());
            }
        }
        let what = "somebody else writes it all the time".to_owned();
        Err(Error::Store { action: "write", place: format!("{}/{CATALOG}", self.url), what })
    }

    /// Replaces an object that has this version; false if it has another one by now.
    fn replace(
        &self,
        name: &str,
        text: &[u8],
        version: Option<UpdateVersion>,
    ) -> Result<bool, Error> {
        let key = self.key(name);
        let put = |mode: PutMode| {
            let put = self.store.put_opts(&key, PutPayload::from(text.to_vec()), mode.into());
            self.runtime.block_on(put)
        };
        match put(version.map_or(PutMode::Create, PutMode::Update)) {
            Ok(_) => Ok(true),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(false),
            Err(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => {
                // What the catalog says follows from the releases: the last writer is right.
                put(PutMode::Overwrite).map(|_| true).map_err(self.failed("write", name))
            }
            Err(error) => Err(self.failed("write", name)(error)),
        }
    }
}

impl Sink for Objects {
    /// Whether the store answers and the place is free. Leaves nothing behind.
    fn preflight(&mut self, id: &ReleaseId) -> Result<(), Error> {
        self.is_there(id).map(|_| ())
    }

    /// Creates every object, the manifest last.
    fn publish(&mut self, rendered: &Rendered) -> Result<Vec<OutRecord>, Error> {
        if !self.is_there(&rendered.id)? {
            let name = |file: &str| format!("{}/{file}", rendered.name);
            for file in &rendered.files {
                self.create(&name(file.name), &file.bytes)?;
            }
            self.create(&name(SIGNATURE), &rendered.signature)?;
            self.create(&name(MANIFEST), &rendered.manifest)?;
        }
        self.write_catalog()?;
        Ok(Vec::new())
    }

    fn standing(&mut self) -> Result<Vec<Standing>, Error> {
        let manifests = self.manifests(self.names()?)?;
        Ok(manifests.iter().filter_map(|(_, text)| Standing::of_manifest(text)).collect())
    }
}

fn store_of(url: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
    let retry =
        RetryConfig { max_retries: 5, retry_timeout: PATIENCE, backoff: BackoffConfig::default() };
    let http = || ClientOptions::new().with_timeout(ANSWER).with_connect_timeout(ANSWER);
    let store: Arc<dyn ObjectStore> = match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("gs") => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
            Arc::new(builder.with_retry(retry).with_client_options(http()).build()?)
        }
        Some("az") => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url);
            Arc::new(builder.with_retry(retry).with_client_options(http()).build()?)
        }
        _ => {
            // Plain HTTP only where the environment names such an address itself, as for a store of this machine.
            let is_plain =
                ["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"].iter().any(|name| {
                    std::env::var(name).is_ok_and(|address| address.starts_with("http://"))
                });
            let builder = AmazonS3Builder::from_env().with_url(url);
            let http = http().with_allow_http(is_plain);
            Arc::new(builder.with_retry(retry).with_client_options(http).build()?)
        }
    };
    Ok(store)
}
