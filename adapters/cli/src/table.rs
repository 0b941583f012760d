//! Columns.

/// The lines of a table, indented, each column as wide as its widest cell needs. The last column is not filled up.
pub(crate) fn aligned<const COLUMNS: usize>(indent: usize, rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let mut line = " ".repeat(indent);
        for (cell, width) in row.iter().zip(widths) {
            let cell_width = cell.chars().count();
            line += cell;
            line += &" ".repeat(width - cell_width + 2);
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The first line of what a server says, without control characters: it must not steer the terminal.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
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
    fn a_first_line_is_harmless() {
        assert_eq!(first_line("\n  hello \x1b[31m\nworld"), "hello  [31m");
        assert_eq!(first_line(""), "");
    }
}
