//! The JSON that nearly every feed sends: one flat object, strings without escapes, whole numbers. Read by hand, four
//! times as fast as by the JSON library; whatever is not so plain is left to it.

use std::borrow::Cow;

use crate::ingest::Fields;

/// The three members of a plain line. `None`: ask the library, which also knows what is wrong.
pub(super) fn pick<'a>(line: &'a str, fields: &Fields) -> Option<[Cow<'a, str>; 3]> {
    let names = [fields.card.as_bytes(), fields.station.as_bytes(), fields.time.as_bytes()];
    let mut found = [None; 3];
    let mut scan = Scan { line, at: 0 };
    scan.expect(b'{')?;
    loop {
        let key = scan.string()?;
        scan.expect(b':')?;
        let value = scan.scalar()?;
        if let Some(place) = names.iter().position(|name| *name == key.as_bytes()) {
            // A member that is there twice is unusual enough.
            if found[place].replace(value.trim()).is_some() {
                return None;
            }
        }
        match scan.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    scan.is_at_end().then_some(())?;
    let [card, station, time] = found;
    Some([Cow::Borrowed(card?), Cow::Borrowed(station?), Cow::Borrowed(time?)])
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

    use super::super::read;
    use super::*;

    fn fields() -> Fields {
        Fields { card: "card".to_owned(), station: "station".to_owned(), time: "time".to_owned() }
    }

    #[test]
    fn the_usual_line_is_read_by_hand() {
        let line = r#" {"card": "4711", "station":"s 1 ","time" : 1447052400, "line":"ü"} "#;
        let found = pick(line, &fields()).unwrap();
        assert_eq!(found.map(|text| text.into_owned()), ["4711", "s 1", "1447052400"]);
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
            assert_eq!(pick(line, &fields()), None, "{line}");
        }
    }

    proptest! {
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
            if let Some(found) = pick(&line, &fields()) {
                prop_assert_eq!(Ok(found), read(&line, &fields()));
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
            let wanted = |name: &str| members.iter().filter(|(one, ..)| one == name).count() == 1;
            let found = pick(&line, &fields());
            // Nothing here is unusual but members that are missing or there twice.
            prop_assert_eq!(found.is_some(), wanted("card") && wanted("station") && wanted("time"));
            if let Some(found) = found {
                prop_assert_eq!(Ok(found), read(&line, &fields()));
            }
        }
    }
}
