//! Playbooks: the shipped ones and a person's own.

use crate::diagnosis::Severity;
use crate::playbook::{self, Fault, Playbook, lint, testing};

use super::{Data, PlaybookCard, PlaybookText};
use crate::projection::library::{self, OwnFile};
use crate::web::failure::Failure;

impl Data {
    /// The playbooks that read: one of a person's own stands in place of a shipped one of its id.
    pub(super) fn all_playbooks(&self) -> Vec<Playbook> {
        library::with_shipped(self.own_files())
    }

    fn own_files(&self) -> Vec<OwnFile> {
        library::own_files(self.own_playbooks.as_deref())
    }

    /// All playbooks, those that do not read among them.
    ///
    /// # Errors
    /// Never today; the shape is that of its neighbours.
    pub async fn playbooks(&self) -> Result<Vec<PlaybookCard>, Failure> {
        let own = self.own_files();
        let replaced = |id: &str| {
            own.iter()
                .any(|own| own.read.as_ref().is_ok_and(|own| own.id == id))
        };
        let shipped = playbook::shipped().iter();
        let mut cards: Vec<PlaybookCard> = shipped
            .filter(|shipped| !replaced(&shipped.id))
            .map(|shipped| card(shipped, false))
            .collect();
        cards.extend(own.iter().map(own_card));
        cards.sort_by(|one, other| (&one.kind, &one.id).cmp(&(&other.kind, &other.id)));
        Ok(cards)
    }

    /// A playbook, its tests run.
    ///
    /// # Errors
    /// When there is none of that id.
    pub async fn playbook(&self, id: &str) -> Result<PlaybookText, Failure> {
        let (data, id) = (self.clone(), id.to_owned());
        // Tests read output and match every playbook: work for a thread of its own.
        tokio::task::spawn_blocking(move || data.playbook_now(&id))
            .await
            .map_err(|error| Failure::broken("This playbook cannot be tested", &error))?
    }

    fn playbook_now(&self, id: &str) -> Result<PlaybookText, Failure> {
        let own = self.own_files().into_iter();
        if let Some((card, own)) = own
            .map(|own| (own_card(&own), own))
            .find(|(card, _)| card.id == id)
        {
            return Ok(match own.read {
                Ok(playbook) => self.told(&playbook, card),
                Err(faults) => PlaybookText {
                    lint: faults.iter().map(complaint).collect(),
                    tests: Vec::new(),
                    references: Vec::new(),
                    text: own.text,
                    card,
                },
            });
        }
        let shipped = playbook::shipped().iter().find(|known| known.id == id);
        let shipped = shipped.ok_or_else(|| Failure::not_found("playbook", id))?;
        Ok(self.told(shipped, card(shipped, false)))
    }

    fn told(&self, playbook: &Playbook, card: PlaybookCard) -> PlaybookText {
        let all = self.all_playbooks();
        let tests = testing::run_tests(playbook, &playbook::Engine::new(&all));
        PlaybookText {
            text: playbook.text.clone(),
            lint: lint::lint(playbook).iter().map(complaint).collect(),
            tests: tests
                .into_iter()
                .map(|test| (test.name, test.passed, test.message))
                .collect(),
            references: references(playbook),
            card,
        }
    }
}

/// A `title:` or `id:` of a text, for playbooks that do not read.
fn key(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let value = line.strip_prefix(':')?.trim().trim_matches(['"', '\'']);
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

/// A title with its holes (`{{K.host}}`) named by their field: `‹host›`.
fn without_holes(title: &str) -> String {
    let mut out = String::new();
    let mut rest = title;
    while let Some((before, hole)) = rest.split_once("{{") {
        let Some((hole, after)) = hole.split_once("}}") else {
            break;
        };
        let field = hole.rsplit('.').next().unwrap_or(hole).trim();
        out.push_str(before);
        out.push('‹');
        out.push_str(&field.replace('_', " "));
        out.push('›');
        rest = after;
    }
    out.push_str(rest);
    out
}

fn own_card(own: &OwnFile) -> PlaybookCard {
    match &own.read {
        Ok(playbook) => card(playbook, true),
        Err(faults) => PlaybookCard {
            id: key(&own.text, "id").unwrap_or_else(|| own.name()),
            title: key(&own.text, "title").unwrap_or_else(|| "It does not read".to_owned()),
            kind: key(&own.text, "kind").unwrap_or_default(),
            severity: Severity::Info,
            version: 0,
            own: true,
            tests: 0,
            problems: faults.len().max(1) as u64,
        },
    }
}

fn card(playbook: &Playbook, own: bool) -> PlaybookCard {
    PlaybookCard {
        id: playbook.id.clone(),
        title: key(&playbook.text, "title").map_or_else(
            || playbook.id.replace('-', " "),
            |title| without_holes(&title),
        ),
        kind: playbook.kind.clone(),
        severity: playbook.severity,
        version: playbook.version,
        own,
        tests: playbook.tests.len() as u64,
        problems: lint::lint(playbook).len() as u64,
    }
}

fn complaint(fault: &Fault) -> (usize, String) {
    let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
    (
        fault.line,
        format!("{}{}", fault.message, hint.unwrap_or_default()),
    )
}

fn references(playbook: &Playbook) -> Vec<(String, String)> {
    let references = playbook.references.iter();
    references
        .map(|reference| {
            let words = [&reference.what, &reference.version, &reference.provenance];
            let words: Vec<&str> = words.into_iter().map(String::as_str).collect();
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            (words.join(" · "), reference.url.clone().unwrap_or_default())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_in_a_title_are_named() {
        assert_eq!(
            without_holes("{{L.name}} on {{L.target_host}} stands {{still"),
            "‹name› on ‹target host› stands {{still"
        );
    }
}
