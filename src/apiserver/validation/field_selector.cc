#include "apiserver/validation/field_selector.h"

namespace porthole::apiserver {
namespace {

Result<std::string> unescape(std::string_view text) {
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            value += text[i];
            continue;
        }
        const char next = i + 1 < text.size() ? text[i + 1] : '\0';
        if (next != ',' && next != '=' && next != '\\')
            return Error(Reason::BadRequest, "invalid field selector: invalid escape sequence in \"" + std::string(text) + "\"");
        value += next;
        ++i;
    }
    return value;
}

Result<FieldSelector::Term> parse_term(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
            continue;
        }
        const std::string_view from_here = text.substr(i);
        const std::size_t length = from_here.starts_with("!=") || from_here.starts_with("==") ? 2 : from_here.starts_with('=') ? 1 : 0;
        if (length == 0) continue;
        FieldSelector::Term term;
        term.field = text.substr(0, i);
        term.equal = text[i] == '=';
        TRY(term.value, unescape(text.substr(i + length)));
        return term;
    }
    return Error(Reason::BadRequest, "invalid field selector: \"" + std::string(text) + "\"; can't understand '" + std::string(text) + "'");
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
    FieldSelector selector;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '\\') {
            ++i;
            continue;
        }
        if (i < text.size() && text[i] != ',') continue;
        if (i > start) {
            TRY(Term term, parse_term(text.substr(start, i - start)));
            selector.terms_.push_back(std::move(term));
        }
        start = i + 1;
    }
    return selector;
}

std::optional<std::string> FieldSelector::required_value(std::string_view field) const {
    for (const Term& term : terms_)
        if (term.equal && term.field == field) return term.value;
    return std::nullopt;
}

std::string escape_field_value(std::string_view value) {
    std::string escaped;
    for (const char c : value) {
        if (c == ',' || c == '=' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

std::optional<std::string> required_value(std::string_view selector, std::string_view field) {
    const Result<FieldSelector> parsed = FieldSelector::parse(selector);
    return parsed ? parsed->required_value(field) : std::nullopt;
}

}  // namespace porthole::apiserver
