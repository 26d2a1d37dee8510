use super::*;

#[test]
fn a_paper_is_found_by_its_name_and_a_stranger_is_told_the_names() {
    for paper in Paper::ALL {
        assert_eq!(paper.name().parse(), Ok(paper));
    }
    let said = "weaving".parse::<Paper>().unwrap_err().to_string();
    assert!(said.contains("safepath, stm, lk, dptd, projection, or all"), "{said}");
}

#[test]
fn prose_is_wrapped_and_no_word_is_lost() {
    let prose = "a word and another one ".repeat(40);
    let text = exhibit::wrapped(&prose);
    assert!(text.lines().all(|line| line.chars().count() <= 116));
    assert_eq!(text.split_whitespace().count(), 200);
}

#[test]
fn a_table_has_a_line_for_every_row_and_a_dash_where_nothing_is() {
    let mut table = Exhibit::new("Table 9", "nothing", &["a", "b"], "A note.");
    table.push(vec![Cell::Figure(0.25), Cell::Nothing]);
    table.push(vec!["x".into(), 3_u32.into()]);
    table.refused.push("x: too high".to_owned());
    let expected = "### Table 9: nothing\n\n| a | b |\n| --- | --- |\n| 0.2500 | – |\n| x | 3 |\n\nA note.\n\n\
                    - Refused: x: too high\n";
    assert_eq!(table.as_markdown(), expected);
    let missing = Exhibit::missing("Figure 9", "curves", "Not here.");
    assert_eq!(missing.as_markdown(), "### Figure 9: curves\n\nNot here.\n");
}
