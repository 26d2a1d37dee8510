//! The JSON that nearly every feed sends: one flat object, strings without escapes, whole numbers. Read by hand, four
//! times as fast as by the JSON library; whatever is not so plain is left to it.

use super::super::mapping::{NAMES_MAX, Wanted};
use crate::passenger::Picked;

/// The wanted members of a plain line. `None`: ask the library, which also knows what is wrong.
pub(super) fn pick<'a>(line: &'a str, wanted: &Wanted) -> Option<Picked<'a>> {
    // Nearly every feed wants three members: a short list is cleared and named faster.
    match wanted.names.len() {
        Wanted::PLAIN => Some(wanted.picked(&mut scan::<{ Wanted::PLAIN }>(line, wanted)?)),
        _ => Some(wanted.picked(&mut scan::<NAMES_MAX>(line, wanted)?)),
    }
}

fn scan<'a, const N: usize>(line: &'a str, wanted: &Wanted) -> Option<[Option<&'a str>; N]> {
    let n_wanted = wanted.names.len();
    let names: [&[u8]; N] = std::array::from_fn(|index| {
        wanted.names.get(index).map_or(&[][..], |name| name.as_bytes())
    });
    let mut found = [None; N];
    let mut scan = Scan { line, at: 0 };
    scan.expect(b'{')?;
    loop {
        let key = scan.string()?;
        scan.expect(b':')?;
        let value = scan.scalar()?;
        let index = names.iter().position(|name| *name == key.as_bytes());
        if let Some(index) = index.filter(|index| *index < n_wanted) {
            // A member that is there twice is unusual enough.
            if found[index].replace(value.trim()).is_some() {
                return None;
            }
        }
        match scan.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    let is_whole = scan.is_at_end() && found[..Wanted::PLAIN].iter().all(Option::is_some);
    is_whole.then_some(found)
}
struct Scan<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn skip_space(&mut self) {
        let bytes = self.line.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte that is not space.
    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        let byte = *self.line.as_bytes().get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.line.len()
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        self.rest_of_string()
    }

    fn rest_of_string(&mut self) -> Option<&'a str> {
        let start = self.at;
        let rest = &self.line.as_bytes()[start..];
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        if rest[length] != b'"' {
            return None;
        }
        self.at = start + length + 1;
        self.line.get(start..start + length)
    }

    /// A plain string, or a whole number without sign that is its own shortest text.
    fn scalar(&mut self) -> Option<&'a str> {
        let first = self.next()?;
        if first == b'"' {
            return self.rest_of_string();
        }
        let start = self.at - 1;
        let rest = &self.line.as_bytes()[start..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = matches!(rest.get(digits), Some(b',' | b'}' | b' '));
        if !ends || !(1..=18).contains(&digits) || (first == b'0' && digits > 1) {
            return None;
        }
        self.at = start + digits;
        self.line.get(start..start + digits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::{KeepRule, KindRule, Mapping};
    use super::super::Tree;
    use super::*;

    fn read<'a>(line: &'a str, wanted: &Wanted) -> Result<Picked<'a>, crate::model::Reject> {
        super::super::read(line, wanted, &Tree::of(&wanted.names))
    }

    fn wanted() -> Wanted {
        Wanted::new(&Mapping::of_fields("card", "station", "time"))
    }

    /// With rules: five names, of which one is looked at twice.
    fn wanted_with_rules() -> Wanted {
        let named = |name: &str| name.to_owned();
        Wanted::new(&Mapping {
            kind: Some(KindRule { field: named("x"), entry: vec![named("y")], exit: vec![] }),
            keep: ["x", "z"]
                .map(|field| KeepRule { field: named(field), values: vec![named("y")] })
                .to_vec(),
            ..Mapping::of_fields("card", "station", "time")
        })
    }

    #[test]
    fn the_usual_line_is_read_by_hand() {
        let line = r#" {"card": "4711", "station":"s 1 ","time" : 1447052400, "line":"ü"} "#;
        let found = pick(line, &wanted()).unwrap();
        assert_eq!([found.card, found.station, found.time], ["4711", "s 1", "1447052400"]);
    }

    #[test]
    fn whatever_is_not_plain_is_left_to_the_library() {
        for line in [
            r#"{"card":"a","card":"b","station":"s","time":"t"}"#,
            r#"{"card":"a\u0041","station":"s","time":"t"}"#,
            r#"{"card":007,"station":"s","time":"t"}"#,
            r#"{"card":1.5,"station":"s","time":"t"}"#,
            r#"{"card":null,"station":"s","time":"t"}"#,
            r#"{"card":"a","station":"s","time":"t"} x"#,
            r#"{"card":"a","station":"s","time":"t",}"#,
            r#"{"card":"a","station":"s"}"#,
            r#"{"card":12345678901234567890123,"station":"s","time":"t"}"#,
            "{\"card\":\"a\tb\",\"station\":\"s\",\"time\":\"t\"}",
            "",
            "[]",
            "{}",
        ] {
            assert!(pick(line, &wanted()).is_none(), "{line}");
        }
    }

    /// A name with a space around it is another name, for the scanner and for the library.
    #[test]
    fn names_are_compared_as_they_are() {
        let line = r#"{"card":"a"," card ":"b","station":"s","time":"t"}"#;
        let scanned = pick(line, &wanted()).unwrap();
        assert_eq!(scanned.card, "a");
        assert!(read(line, &wanted()) == Ok(scanned));
        let spaced = r#"{" card ":"b","station":"s","time":"t"}"#;
        assert!(read(spaced, &wanted()).unwrap().card.is_empty());
    }

    proptest! {
        #![proptest_config(crate::ingest::tests::comparisons(4_000))]

        /// Where the scanner answers, the library gives the same answer.
        #[test]
        fn the_scanner_never_disagrees_with_the_library(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("{"), Just("}"), Just("\""), Just("\"card\":"), Just("\"station\":"), Just("\"time\":"),
                    Just("\"a\""), Just("\" b \""), Just("1"), Just("0"), Just("-"), Just(","), Just(" "), Just(":"),
                    Just("\\"), Just("null"), Just("ü"), Just("12.5"), Just("\"x\":\"y\","), Just("\n"),
                ],
                0..24,
            )
        ) {
            let line = pieces.concat();
            if let Some(found) = pick(&line, &wanted()) {
                prop_assert!(read(&line, &wanted()) == Ok(found));
            }
        }

        /// The same for lines that were good until something happened to them.
        #[test]
        fn the_scanner_never_disagrees_on_lines_that_were_changed(
            members in proptest::collection::vec(
                (" ?(card|station|time|x|z|cärd) ?", "[a-z0-9 ü]{0,6}|true|y", 0..3_u8), 3..8),
            changes in proptest::collection::vec(
                (any::<prop::sample::Index>(), "[\"\\\\{}:,0-9 eE.+-]|\u{a0}|\t|null", any::<bool>()), 0..3),
        ) {
            let one = |(name, text, form): &(String, String, u8)| match form {
                0 => format!("\"{name}\": \"{text}\""),
                1 => format!("\"{name}\":{}", text.len()),
                _ => format!("\"{name}\" :\" {text}\" "),
            };
            let usual = "\"card\":\"c\",\"station\":\"s\",\"time\":1447052400,";
            let line = format!("{{{usual}{}}}", members.iter().map(one).collect::<Vec<_>>().join(","));
            let mut line: Vec<char> = line.chars().collect();
            for (index, new, is_inserted) in &changes {
                let at = index.index(line.len());
                line.splice(at..at + usize::from(!is_inserted), new.chars());
            }
            let line: String = line.into_iter().collect();
            for wanted in [wanted(), wanted_with_rules()] {
                if let Some(found) = pick(&line, &wanted) {
                    prop_assert!(read(&line, &wanted) == Ok(found), "{}", line);
                }
            }
        }

        #[test]
        fn well_formed_objects_come_out_the_same(
            members in proptest::collection::vec(("card|station|time|x", "[a-z0-9 ü]{0,6}", any::<u16>(), any::<bool>()), 0..6)
        ) {
            let text: Vec<String> = members.iter().map(|(name, text, number, is_text)| match is_text {
                true => format!("\"{name}\": \"{text}\""),
                false => format!("\"{name}\":{number}"),
            }).collect();
            let line = format!("{{{}}}", text.join(","));
            let count = |name: &str| members.iter().filter(|(one, ..)| one == name).count() == 1;
            let found = pick(&line, &wanted());
            // Nothing here is unusual but members that are missing or there twice.
            prop_assert_eq!(found.is_some(), count("card") && count("station") && count("time"));
            if let Some(found) = found {
                prop_assert!(read(&line, &wanted()) == Ok(found));
            }
        }
    }
}
