//! Points in time, for people.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// The last second of the year 9999. What a server says lasts longer is not worth a date.
const LAST: u64 = 253_402_300_799;

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// When that is, as a date, and how long it is until then, if it is not past.
pub(crate) fn moment(unix: u64, now: u64) -> String {
    if unix > LAST {
        return "a time that is very far".into();
    }
    match unix.checked_sub(now) {
        None | Some(0) => date(unix),
        Some(left) => format!("{} (in {})", date(unix), rough(left)),
    }
}

fn date(unix: u64) -> String {
    let (year, month, day) = civil(unix / DAY);
    let seconds = unix % DAY;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// A time span in its largest unit.
fn rough(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / DAY, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// The year, month and day of a day since 1970. Years are counted from March, so that leap days come last.
fn civil(days: u64) -> (u64, u64, u64) {
    /// Days in 400 years, after which everything repeats; from March of the year 0 to 1970.
    const ERA: u64 = 146_097;
    const BEFORE_1970: u64 = 719_468;
    let days = days + BEFORE_1970;
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_767_225_599, "2025-12-31 23:59:59 UTC"),
            (LAST, "9999-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(moment(unix, LAST), expected);
        }
        assert_eq!(moment(u64::MAX, 0), "a time that is very far");
    }

    #[test]
    fn time_left_is_told_roughly() {
        assert_eq!(moment(90, 0), "1970-01-01 00:01:30 UTC (in 90 seconds)");
        assert_eq!([1, 3_599, 7_200, 172_800].map(rough), ["1 second", "59 minutes", "2 hours", "2 days"]);
    }
}
