// URLs, as Go's net/url reads them.
#include <algorithm>
#include <map>

#include "base/strings.h"
#include "cel/library/libraries.h"

namespace porthole::cel::urls_library {
namespace {

using Arguments = std::span<const Value>;

/// The parts as they were written.
struct Parts {
    std::string scheme, user, host, path, query, fragment;
    bool has_authority = false, has_query = false, has_fragment = false;
};

class Url : public Opaque {
public:
    Url(std::string text, Parts parts) : parts(std::move(parts)), text_(std::move(text)) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("kubernetes.URL");
        return type;
    }
    bool equals(const Opaque& other) const override { return text_ == static_cast<const Url&>(other).text_; }
    std::string text() const override { return text_; }

    Parts parts;

private:
    std::string text_;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex(char c) { return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/// "" where every % begins an escape.
std::string bad_escape(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0))
            return "invalid URL escape " + quote(text.substr(i, 3));
    }
    return {};
}

std::string unescaped(std::string_view text, bool plus_is_blank) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            plain += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            plain += plus_is_blank && text[i] == '+' ? ' ' : text[i];
        }
    }
    return plain;
}

std::string check_host(std::string_view host) {
    std::string_view port;
    if (host.starts_with('[')) {
        const std::size_t close = host.rfind(']');
        if (close == std::string_view::npos) return "missing ']' in host";
        port = host.substr(close + 1);
    } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
        port = host.substr(colon);
    }
    if (!port.empty() && (port[0] != ':' || !std::ranges::all_of(port.substr(1), is_digit)))
        return "invalid port " + quote(port) + " after host";
    for (const char c : host) {
        const bool is_plain =
            is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 || std::string_view("-._~!$&'()*+,;=:[]<>\"%").contains(c);
        if (!is_plain) return "invalid character " + quote(std::string(1, c)) + " in host name";
    }
    return bad_escape(host);
}

/// What is wrong with the text as an absolute URL or path; "" and its parts where nothing is.
std::string parse_url(std::string_view text, Parts& parts) {
    const std::string_view whole = text;
    const auto failed = [&](std::string_view why) { return "parse " + quote(whole) + ": " + std::string(why); };
    if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
        return failed("net/url: invalid control character in URL");
    if (text.empty()) return failed("empty url");
    std::size_t i = 0;
    while (i < text.size() && (is_letter(text[i]) || (i > 0 && (is_digit(text[i]) || text[i] == '+' || text[i] == '-' || text[i] == '.'))))
        ++i;
    if (i < text.size() && text[i] == ':') {
        if (i == 0) return failed("missing protocol scheme");
        parts.scheme = to_lower(text.substr(0, i));
        text.remove_prefix(i + 1);
    }
    if (!text.starts_with('/')) {
        if (parts.scheme.empty()) return failed("invalid URI for request");
        parts.path = text;  // opaque
        return {};
    }
    if (const std::size_t hash = text.find('#'); hash != std::string_view::npos) {
        parts.fragment = text.substr(hash + 1);
        parts.has_fragment = true;
        text = text.substr(0, hash);
    }
    if (const std::size_t question = text.find('?'); question != std::string_view::npos) {
        parts.query = text.substr(question + 1);
        parts.has_query = true;
        text = text.substr(0, question);
    }
    if (text.starts_with("//") && !(parts.scheme.empty() && text.starts_with("///"))) {
        parts.has_authority = true;
        text.remove_prefix(2);
        const std::size_t slash = std::min(text.find('/'), text.size());
        std::string_view authority = text.substr(0, slash);
        text.remove_prefix(slash);
        if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
            parts.user = authority.substr(0, at);
            authority.remove_prefix(at + 1);
        }
        if (const std::string mistake = check_host(authority); !mistake.empty()) return failed(mistake);
        parts.host = unescaped(authority, false);
    }
    if (const std::string mistake = bad_escape(text); !mistake.empty()) return failed(mistake);
    parts.path = text;
    return {};
}

const Parts& parts_of(const Value& value) { return static_cast<const Url&>(value.as_opaque()).parts; }

Value url(Arguments a) {
    Parts parts;
    const std::string mistake = parse_url(a[0].as_text(), parts);
    if (!mistake.empty()) return Value::error("URL parse error during conversion from string: " + mistake);
    return Value::opaque(new Url(std::string(a[0].as_text()), std::move(parts)));
}
Value is_url(Arguments a) {
    Parts parts;
    return Value::boolean(parse_url(a[0].as_text(), parts).empty());
}
Value scheme(Arguments a) { return Value::string(parts_of(a[0]).scheme); }
Value host(Arguments a) { return Value::string(parts_of(a[0]).host); }

/// Where the port begins, at its colon.
std::size_t port_at(const std::string& host) {
    const std::size_t colon = host.rfind(':');
    return colon == std::string::npos || host.find(']', colon) != std::string::npos ? host.size() : colon;
}
Value hostname(Arguments a) {
    const std::string& host = parts_of(a[0]).host;
    std::string name = host.substr(0, port_at(host));
    if (name.size() > 1 && name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return Value::string(std::move(name));
}
Value port(Arguments a) {
    const std::string& host = parts_of(a[0]).host;
    const std::size_t at = port_at(host);
    return Value::string(at < host.size() ? host.substr(at + 1) : "");
}
Value escaped_path(Arguments a) {
    std::string path;
    for (const char c : parts_of(a[0]).path) {
        constexpr std::string_view Plain = "-_.~!$&'()*+,;=:@/%[]";
        if (is_letter(c) || is_digit(c) || Plain.contains(c)) {
            path += c;
        } else {
            constexpr std::string_view Digits = "0123456789ABCDEF";
            const auto byte = static_cast<unsigned char>(c);
            path += {'%', Digits[byte >> 4], Digits[byte & 15]};
        }
    }
    return Value::string(std::move(path));
}
Value query(Arguments a) {
    std::map<std::string, std::vector<Value>> values;
    for (const std::string_view pair : split_views(parts_of(a[0]).query, '&')) {
        if (pair.empty() || pair.contains(';')) continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        const std::string_view key = pair.substr(0, equals), value = pair.substr(std::min(equals + 1, pair.size()));
        if (!bad_escape(key).empty() || !bad_escape(value).empty()) continue;
        values[unescaped(key, true)].push_back(Value::string(unescaped(value, true)));
    }
    std::vector<Value::Entry> entries;
    for (auto& [key, list] : values) entries.emplace_back(Value::string(key), Value::list(std::move(list)));
    return Value::map(std::move(entries));
}

constexpr LibraryFunction Table[] = {
    {"string_to_url = url(string) -> kubernetes.URL", url},
    {"is_url_string = isURL(string) -> bool", is_url},
    {"url_get_scheme = kubernetes.URL.getScheme() -> string", scheme},
    {"url_get_host = kubernetes.URL.getHost() -> string", host},
    {"url_get_hostname = kubernetes.URL.getHostname() -> string", hostname},
    {"url_get_port = kubernetes.URL.getPort() -> string", port},
    {"url_get_escaped_path = kubernetes.URL.getEscapedPath() -> string", escaped_path},
    {"url_get_query = kubernetes.URL.getQuery() -> map(string, list(string))", query},
};

}  // namespace
}  // namespace porthole::cel::urls_library

namespace porthole::cel {

std::span<const LibraryFunction> url_functions() { return urls_library::Table; }

}  // namespace porthole::cel
