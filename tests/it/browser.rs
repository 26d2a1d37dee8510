//! The console in a real browser: Debian's chromium, driven by chromedriver. Screenshots are kept as test output.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::web::{Demo, ask};

/// chromedriver; ended with the test.
pub(crate) struct Driver {
    child: Child,
    address: String,
}

impl Driver {
    /// Starts it, or says that there is none.
    pub(crate) fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            let line = b"SKIPPED the console in a browser: install chromium and chromium-driver\n";
            std::io::stderr().write_all(line).unwrap();
            return None;
        };
        Some(Self { child, address: format!("127.0.0.1:{port}") })
    }

    /// A browser without a window, as wide as asked, that saves files into a folder.
    pub(crate) async fn browser(&self, downloads: &Path, width: u32, is_dark: bool) -> Client {
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            format!("--window-size={width},1400"),
        ];
        if is_dark {
            arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let wanted = json!({
            "goog:chromeOptions": {
                "args": arguments,
                "prefs": { "download.default_directory": downloads, "download.prompt_for_download": false },
            },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let wanted: Capabilities = serde_json::from_value(wanted).unwrap();
        let began = Instant::now();
        loop {
            match ClientBuilder::new(HttpConnector::new())
                .capabilities(wanted.clone())
                .connect(&format!("http://{}", self.address))
                .await
            {
                Ok(client) => return client,
                Err(error) => {
                    assert!(began.elapsed() < Duration::from_secs(90), "no browser: {error}");
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What the browser complained about; a missing icon is nobody's fault.
pub(crate) async fn complaints(driver: &Driver, browser: &Client) -> Vec<Value> {
    let session = browser.session_id().await.unwrap().expect("a session has an id");
    let (address, body) = (&driver.address, r#"{"type":"browser"}"#);
    let answer = ask(
        address,
        &format!(
            "POST /session/{session}/se/log HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    );
    assert_eq!(answer.status, 200, "{}", answer.head);
    answer.json()["value"].as_array().unwrap().clone()
}

/// Keeps what the page looks like.
pub(crate) async fn keep_picture(browser: &Client, name: &str) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
    fs::create_dir_all(&dir).unwrap();
    let picture = browser.screenshot().await.unwrap();
    assert!(picture.len() > 5_000, "{name} is not blank");
    fs::write(dir.join(format!("{name}.png")), picture).unwrap();
}

async fn visit(demo: &Demo, driver: &Driver, downloads: &Path) {
    let browser = driver.browser(downloads, 1200, false).await;
    browser.goto(&format!("http://{}/", demo.address)).await.unwrap();
    keep_picture(&browser, "overview").await;
    browser.find(Locator::LinkText("Releases")).await.unwrap().click().await.unwrap();
    browser.find(Locator::Css("main table a")).await.unwrap().click().await.unwrap();
    let heading = browser.find(Locator::Css("h1")).await.unwrap().text().await.unwrap();
    assert_eq!(heading, "Trips of a made-up city");
    assert_eq!(browser.find_all(Locator::Css("svg[role=img]")).await.unwrap().len(), 4);
    keep_picture(&browser, "release").await;
    browser.find(Locator::LinkText("paths.csv")).await.unwrap().click().await.unwrap();
    let saved = wait_for_file(&downloads.join("paths.csv")).await;
    let name = browser.current_url().await.unwrap().path().rsplit('/').next().unwrap().to_owned();
    assert_eq!(saved, fs::read(demo.out().join("releases").join(&name).join("paths.csv")).unwrap());
    let report = demo.out().join("releases").join(&name).join("report.html");
    browser.goto(&format!("file://{}", report.display())).await.unwrap();
    assert_eq!(browser.find_all(Locator::Css("svg[role=img]")).await.unwrap().len(), 4);
    keep_picture(&browser, "report").await;
    for page in ["windows", "budget", "statement"] {
        browser.goto(&format!("http://{}/{page}", demo.address)).await.unwrap();
        keep_picture(&browser, page).await;
    }
    assert_eq!(complaints(driver, &browser).await, Vec::<Value>::new());
    browser.close().await.unwrap();
}

async fn wait_for_file(path: &PathBuf) -> Vec<u8> {
    let began = Instant::now();
    loop {
        if let Ok(bytes) = fs::read(path) {
            return bytes;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{} never came", path.display());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// On a phone nothing but a table's own frame is wider than the screen.
async fn visit_on_a_phone_at_night(demo: &Demo, driver: &Driver, downloads: &Path) {
    let browser = driver.browser(downloads, 500, true).await;
    for page in ["", "releases", "windows", "budget", "statement"] {
        browser.goto(&format!("http://{}/{page}", demo.address)).await.unwrap();
        let wider =
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth;";
        assert_eq!(browser.execute(wider, Vec::new()).await.unwrap(), false, "/{page}");
        keep_picture(&browser, &format!("phone-{page}")).await;
    }
    browser.close().await.unwrap();
}

#[test]
fn the_console_works_in_a_browser() {
    let Some(driver) = Driver::start() else { return };
    let demo = Demo::start("weave");
    let downloads = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(visit(&demo, &driver, downloads.path()));
    runtime.block_on(visit_on_a_phone_at_night(&demo, &driver, downloads.path()));
}
