//! Keys and words that stand in nearly every request and reply of a model provider. Whether the rules
//! find anything in them is asked once, when the rules are compiled, and not for each of them in
//! each message.

use std::collections::HashSet;

use crate::engine::Engine;

/// As the APIs spell them.
const WORDS: &str = "
    annotations arguments array assistant auto batch budget_tokens cache_control
    cache_creation cache_creation_input_tokens cache_read_input_tokens cached_tokens
    chat.completion chat.completion.chunk choices citations code completion_tokens
    completion_tokens_details content content_block content_block_delta content_block_start
    content_block_stop content_filter context created data default delta description detail
    developer disabled document effort enabled encrypted_content end_turn enum ephemeral error
    finish_reason format frequency_penalty function function_call high id image image_url index
    input input_audio input_json_delta input_schema input_tokens integer items json_object
    json_schema length list logit_bias logprobs low max_completion_tokens max_tokens media_type
    medium message message_delta message_start message_stop messages metadata minimal mode model
    n name none null number object output output_tokens parallel_tool_calls parameters parent
    partial_json ping presence_penalty prompt prompt_tokens prompt_tokens_details properties
    reasoning reasoning_content reasoning_effort reasoning_tokens redacted_thinking refusal
    required response_format result role schema seed service_tier session_id signature
    signature_delta source status stop stop_reason stop_sequence stop_sequences store stream
    stream_options strict string system system_fingerprint temperature text text_delta thinking
    thinking_delta title tool tool_call_id tool_calls tool_choice tool_result tool_use
    tool_use_id tools top_k top_p top_logprobs total_tokens type url usage user value
";

/// Those of the words in which the rules find nothing.
pub(crate) fn without_findings(engine: &Engine) -> HashSet<&'static str> {
    let finds = |word: &&str| {
        engine
            .find_certain(word)
            .is_ok_and(|found| found.is_empty())
    };
    WORDS.split_whitespace().filter(finds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::ENGINE;

    #[test]
    fn the_usual_words_hold_nothing() {
        let known = without_findings(&ENGINE);
        assert_eq!(known.len(), WORDS.split_whitespace().count());
        assert!(ENGINE.is_known_word("finish_reason") && !ENGINE.is_known_word("Finish_reason"));
    }

    #[test]
    fn a_word_that_a_rule_of_the_policy_finds_is_not_known() {
        let rule = "[[rule]]\nname = 'own'\nlabel = 'OWN'\npattern = 'prompt_tok[a-z]{1,5}'\n";
        let engine = Engine::new(&toml::from_str(rule).unwrap()).unwrap();
        assert!(!engine.is_known_word("prompt_tokens") && engine.is_known_word("role"));
        assert_eq!(engine.find_certain("prompt_tokens").unwrap().len(), 1);
    }
}
