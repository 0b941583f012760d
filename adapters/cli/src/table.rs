//! Columns, and the short texts in them.

use std::borrow::Cow;

use crate::harmless;

/// How wide a column gets. A longer cell makes its own line longer, and not all the others.
const COLUMN: usize = 60;

/// Characters of a cell, or of anything else that is one line. What says more than this is no short description.
const LINE: usize = 1_000;

/// The lines of a table, indented, each column as wide as its widest cell needs. The last column is not filled up.
pub(crate) fn aligned<const COLUMNS: usize>(indent: usize, rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count().min(COLUMN)).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let mut line = " ".repeat(indent);
        for (cell, width) in row.iter().zip(widths) {
            let cell_width = cell.chars().count();
            line += cell;
            line += &" ".repeat(width.saturating_sub(cell_width) + 2);
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The first line of what a server says, without what would steer the terminal.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    // Before anything is made of it, because that may make it longer.
    harmless::text(&cut(line, LINE)).replace('\t', " ")
}

/// The beginning of a text, of so many characters at most.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let end = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..end]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_characters() {
        let rows = [["a", "1"], ["äöü", "22"], ["", ""]].map(|row| row.map(String::from));
        assert_eq!(aligned(2, &rows), ["  a    1", "  äöü  22", ""]);
        assert_eq!(aligned::<2>(2, &[]), [""; 0]);
    }

    #[test]
    fn a_long_cell_makes_only_its_own_line_long() {
        let rows = [["x".repeat(100), "1".into()], ["a".into(), "2".into()]];
        assert_eq!(aligned(0, &rows), [format!("{}  1", "x".repeat(100)), format!("a{}2", " ".repeat(61))]);
    }

    #[test]
    fn a_first_line_is_harmless() {
        assert_eq!(first_line("\n  hello \x1b[31m\nworld"), r"hello \u{1b}[31m");
        assert_eq!(first_line("a\tb"), "a b");
        assert_eq!(first_line(""), "");
        assert_eq!(first_line(&"é".repeat(2_000)).chars().count(), LINE);
    }

    #[test]
    fn what_is_cut_shows_it() {
        assert_eq!((cut("abc", 3), cut("abcd", 3), cut("ä", 0)), ("abc".into(), "ab…".into(), "…".into()));
    }
}
