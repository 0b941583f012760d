//! The project's aims, each with what was measured and whether that is enough.

/// Collects verdicts over the sections.
#[derive(Default)]
pub(crate) struct Aims {
    reached: usize,
    missed: usize,
}

impl Aims {
    /// A figure that should not be larger than this.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, limit: f64, unit: &str) {
        self.judge(what, figure, "≤", limit, unit, figure <= limit);
    }

    /// A figure that should not be smaller than this.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, limit: f64, unit: &str) {
        self.judge(what, figure, "≥", limit, unit, figure >= limit);
    }

    fn judge(&mut self, what: &str, figure: f64, relation: &str, limit: f64, unit: &str, reached: bool) {
        let verdict = if reached { "reached" } else { "NOT reached" };
        println!(
            "  {verdict:<11}  {what}: {} (aim {relation} {limit})",
            format!("{} {unit}", short(figure)).trim_end()
        );
        match reached {
            true => self.reached += 1,
            false => self.missed += 1,
        }
    }

    /// The end of the report.
    pub(crate) fn conclude(&self) {
        println!("\n{} of {} aims reached", self.reached, self.reached + self.missed);
        if self.missed > 0 {
            println!("what the profiles say about the others is in README.md, under \"Not reached, and why\"");
        }
    }
}

fn short(figure: f64) -> String {
    if figure.fract() == 0.0 || figure >= 1000.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}
