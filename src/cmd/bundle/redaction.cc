#include "cmd/bundle/redaction.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/regex.h"
#include "base/strings.h"

namespace porthole::cmd::bundle {
namespace {

using schema::Value;

constexpr const char* Removed = "<removed>";

/// What is a secret by its form. Of a match everything after the first of `keep_to`, and the others that follow it, is removed; all of it
/// where that is "".
struct Form {
    const char* pattern;
    std::string_view keep_to;
};
constexpr Form Forms[] = {
    {R"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY-----)", ""},
    {R"(LS0tLS1CRUdJTiB[A-CE-Za-z0-9+/][A-Za-z0-9+/=]{16,})", ""},       // the same in base64; a certificate goes on with a D
    {R"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)", ""},  // a JSON Web Token
    {R"(\b[a-z0-9]{6}\.[a-z0-9]{16}\b)", ""},                            // a bootstrap token
    {R"((?i)\b(?:bearer|basic) +[A-Za-z0-9+/_.~=-]{8,})", " "},          // a header
    {R"([A-Za-z][A-Za-z0-9+.-]*://[^/\s@"'\\]+@)", "/"},                 // who a URL says to be
    {R"((?i)(?:password|passwd|passphrase|secret|token|(?:api|access|private|client)[-_]?key(?:[-_]data)?|credentials?)\\?["']?\s*[:=]\s*)"
     R"((?:\\?"[^"]*"|'[^']*'|[^\s"']+))",
     ":=\"'\\ \t"},
};

using Patterns = std::array<std::optional<Regex>, std::size(Forms)>;

const Patterns& patterns() {
    static const Patterns all = [] {
        Patterns compiled;
        for (std::size_t i = 0; i < compiled.size(); ++i) compiled[i] = *Regex::compile(Forms[i].pattern);
        return compiled;
    }();
    return all;
}

/// How much of the beginning of a match stays.
std::size_t kept_before(std::string_view part, std::string_view keep_to) {
    if (keep_to.empty()) return 0;
    const std::size_t first = part.find_first_of(keep_to.front() == ':' ? ":=" : keep_to);
    const std::size_t value = part.find_first_not_of(keep_to, first);
    return value == part.npos ? part.size() : value;
}

/// What closes it: quotes, or the end of a URL's user.
std::string_view kept_after(std::string_view part, std::size_t before) {
    const std::size_t last = part.find_last_not_of("\\\"'@");
    return part.substr(last == part.npos ? before : std::max(last + 1, before));
}

void redact_form(std::string& text, const Form& form, const Regex& pattern) {
    std::string redacted;
    std::size_t copied = 0;
    pattern.find_all(text, [&](std::string_view part) {
        const auto at = static_cast<std::size_t>(part.data() - text.data());
        const std::size_t before = kept_before(part, form.keep_to);
        redacted.append(text, copied, at - copied).append(part.substr(0, before)).append(Removed);
        if (before > 0) redacted.append(kept_after(part, before));
        copied = at + part.size();
        return true;
    });
    if (copied == 0) return;
    text = redacted.append(text, copied);
}

/// "adminPassword", "api-key", "client_secret"
bool is_secret_name(std::string_view name) {
    std::string plain = to_lower(name);
    std::erase_if(plain, [](char c) { return c == '-' || c == '_' || c == '.'; });
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"password", "passwd", "passphrase", "secret", "token", "tokens", "apikey", "accesskey",
                                                "secretkey", "privatekey", "clientkey", "keydata", "credentials"},
        [&](std::string_view end) { return plain.ends_with(end); });
}

/// Texts and numbers, also in a list. Whether something is switched on is no secret.
void remove_value(Value& value) {
    if (value.is_string()) value = "<removed: " + std::to_string(value.as_string().size()) + " bytes>";
    if (value.is_number()) value = Removed;
    if (value.is_array())
        for (Value& item : value.as_array()) remove_value(item);
}

void remove_values(Value* object) {
    if (!object || !object->is_object()) return;
    for (auto& member : object->as_object()) remove_value(member.value);
}

/// Other tools keep copies of contents in annotations.
void remove_contents(Value& object) {
    for (const char* content : {"data", "stringData", "binaryData"}) remove_values(object.find(content));
    remove_values(object.at_path({"metadata", "annotations"}));
}

/// Variables, or headers of a probe's request: a list of names and values, or a map.
void redact_pairs(Value& pairs) {
    remove_values(&pairs);
    if (!pairs.is_array()) return;
    for (Value& pair : pairs.as_array())
        if (Value* value = pair.find("value")) remove_value(*value);
}

}  // namespace

std::string redact_text(std::string text) {
    for (std::size_t i = 0; i < std::size(Forms); ++i) redact_form(text, Forms[i], *patterns()[i]);
    return text;
}

void redact(Value& value) {
    if (value.is_string()) value = redact_text(std::move(value.as_string()));
    if (value.is_array())
        for (Value& item : value.as_array()) redact(item);
    if (!value.is_object()) return;
    const std::string kind(value.string_at({"kind"}));
    if (kind == "Secret" || kind == "ConfigMap") remove_contents(value);
    if (Value* items = value.find("items"); items && items->is_array() && (kind == "SecretList" || kind == "ConfigMapList"))
        for (Value& item : items->as_array())
            if (!item.find("kind")) remove_contents(item);  // else below
    value.erase("managedFields");
    for (auto& member : value.as_object()) {
        if (member.key == "env" || member.key == "httpHeaders") redact_pairs(member.value);
        if (member.key == "kubectl.kubernetes.io/last-applied-configuration" || is_secret_name(member.key)) remove_value(member.value);
        redact(member.value);
    }
}

}  // namespace porthole::cmd::bundle
