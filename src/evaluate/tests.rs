use super::*;

/// Holds U-1.
#[test]
fn a_page_never_goes_into_a_release_or_a_catalog() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("releases/20151109T0400_20151116T0400");
    std::fs::create_dir_all(release.join("deeper")).unwrap();
    std::fs::write(release.join("datapackage.json"), "{}").unwrap();
    std::fs::write(dir.path().join("releases/catalog.json"), "{}").unwrap();
    for path in ["page.html", "deeper/page.html", "../page.html"] {
        let refused = require_private(&release.join(path)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Config);
        assert!(refused.to_string().contains("somewhere private"), "{refused}");
    }
    require_private(&dir.path().join("page.html")).unwrap();
}
