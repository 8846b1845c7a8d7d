#include "cmd/bundle/redaction.h"

#include <algorithm>
#include <array>

#include "base/regex.h"
#include "base/strings.h"

namespace porthole::cmd::bundle {
namespace {

using schema::Value;

constexpr const char* Removed = "<removed>";

/// What is a secret by its form. Of a match everything after the last of `keep_to` is removed; all of it where that is "".
struct Form {
    const char* pattern;
    std::string_view keep_to;
};
constexpr Form Forms[] = {
    {R"(-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----)", ""},
    {R"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)", ""},  // a JSON Web Token
    {R"(\b[a-z0-9]{6}\.[a-z0-9]{16}\b)", ""},                            // a bootstrap token
    {R"((?i)\b(?:bearer|basic) +[A-Za-z0-9+/_.~=-]{8,})", " "},          // a header
    {R"([A-Za-z][A-Za-z0-9+.-]*://[^/\s:@"']+:[^/\s@"']+@)", "/"},       // a URL's user and password
    {R"((?i)(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?)["']?\s*[:=]\s*["']?[^\s"',;&}]+)",
     ":=\"' \t"},
};

const std::array<Regex, std::size(Forms)>& patterns() {
    static const auto all = [] {
        const auto compile = [](std::size_t i) { return *Regex::compile(Forms[i].pattern); };
        return std::array{compile(0), compile(1), compile(2), compile(3), compile(4), compile(5)};
    }();
    return all;
}

/// The end of what stays of a match: of a password the part up to its first separator and the quotes after it.
std::size_t kept(std::string_view part, std::string_view keep_to) {
    if (keep_to.empty()) return 0;
    const std::size_t first = part.find_first_of(keep_to.front() == ':' ? ":=" : keep_to);
    const std::size_t value = part.find_first_not_of(keep_to, first);
    return value == part.npos ? part.size() : value;
}

void redact_form(std::string& text, const Form& form, const Regex& pattern) {
    std::string redacted;
    std::size_t copied = 0;
    pattern.find_all(text, [&](std::string_view part) {
        const auto at = static_cast<std::size_t>(part.data() - text.data());
        redacted.append(text, copied, at - copied).append(part.substr(0, kept(part, form.keep_to))).append(Removed);
        if (part.ends_with('@')) redacted += '@';
        copied = at + part.size();
        return true;
    });
    if (copied == 0) return;
    text = redacted.append(text, copied);
}

bool is_secret_name(std::string_view name) {
    const std::string lower = to_lower(name);
    return std::ranges::any_of(std::initializer_list<std::string_view>{"password", "passwd", "passphrase", "token", "apikey", "accesskey",
                                                                       "secretkey", "privatekey", "clientsecret", "credentials"},
                               [&](std::string_view end) { return lower.ends_with(end); });
}

void remove_value(Value& value) {
    if (value.is_string()) value = "<removed: " + std::to_string(value.as_string().size()) + " bytes>";
}

void remove_values(Value* object) {
    if (!object || !object->is_object()) return;
    for (auto& member : object->as_object()) remove_value(member.value);
}

void remove_contents(Value& object) {
    for (const char* content : {"data", "stringData", "binaryData"}) remove_values(object.find(content));
}

void redact_environment(Value& variables) {
    if (!variables.is_array()) return;
    for (Value& variable : variables.as_array())
        if (Value* value = variable.find("value")) remove_value(*value);
}

}  // namespace

std::string redact_text(std::string text) {
    for (std::size_t i = 0; i < std::size(Forms); ++i) redact_form(text, Forms[i], patterns()[i]);
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
        if (member.key == "env") redact_environment(member.value);
        if (member.key == "kubectl.kubernetes.io/last-applied-configuration" || is_secret_name(member.key)) remove_value(member.value);
        redact(member.value);
    }
}

}  // namespace porthole::cmd::bundle
