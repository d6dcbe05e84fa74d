//! What a person says on a page: notes, and judgements on findings.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use serde::Deserialize;

use super::Site;
use super::data::Judgement;
use super::failure::Failure;

/// Characters of a note.
const LONGEST: usize = 20_000;

/// What the form of a note sends.
#[derive(Debug, Deserialize)]
pub(super) struct NoteForm {
    text: String,
}

/// What the form of a finding sends.
#[derive(Debug, Deserialize)]
pub(super) struct FindingForm {
    /// `confirm` or `dismiss`.
    verdict: String,
    /// The hypothesis held to be right; may be empty.
    #[serde(default)]
    hypothesis: String,
    /// Why it is dismissed.
    #[serde(default)]
    because: String,
}

/// `POST /s/{session}/notes`
pub(super) async fn note(
    State(site): State<Site>,
    Path(key): Path<String>,
    Form(form): Form<NoteForm>,
) -> Result<Redirect, Failure> {
    let text = form.text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return Err(Failure::bad_request(
            "A note needs some words, and at most 20 000 characters.",
            "Go back; what you wrote is still in the field.",
        ));
    }
    site.data.add_note(&key, text.to_owned()).await?;
    Ok(Redirect::to(&format!(
        "/s/{}#note",
        super::search::encode(&key)
    )))
}

/// `POST /s/{session}/findings/{finding}`
pub(super) async fn finding(
    State(site): State<Site>,
    Path((key, finding)): Path<(String, String)>,
    Form(form): Form<FindingForm>,
) -> Result<Redirect, Failure> {
    let judgement = match (form.verdict.as_str(), form.because.trim()) {
        ("confirm", _) => Judgement::Confirm(Some(form.hypothesis).filter(|id| !id.is_empty())),
        ("dismiss", because) if !because.is_empty() => Judgement::Dismiss(because.to_owned()),
        _ => {
            return Err(Failure::bad_request(
                "To dismiss a finding, say why.",
                "Go back and write one sentence: the next person will see it.",
            ));
        }
    };
    site.data.judge(&key, &finding, judgement).await?;
    let to = super::search::encode(&key);
    Ok(Redirect::to(&format!(
        "/s/{to}#{}",
        super::search::encode(&finding)
    )))
}
