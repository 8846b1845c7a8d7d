#include "cel/syntax/lexer.h"

#include <array>

namespace porthole::cel {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Longest first.
constexpr std::array<std::string_view, 25> Operators = {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(",
                                                        ")",  ".",  ",",  "-",  "!",  "?",  ":", "+", "*", "/", "%", "="};

class Lexer {
public:
    Lexer(std::string_view source, Issues& issues) : rest_(source), issues_(issues) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        for (;;) {
            skip_blanks();
            Token token = next();
            if (token.is("=")) {
                mistake(token);
                continue;
            }
            tokens.push_back(token);
            if (token.is(TokenKind::End)) return tokens;
        }
    }

private:
    char peek(std::size_t offset = 0) const { return offset < rest_.size() ? rest_[offset] : '\0'; }

    std::string_view take(std::size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        for (const char c : taken) {
            if (c == '\n') {
                ++location_.line;
                location_.column = 0;
            } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
                ++location_.column;
            }
        }
        rest_.remove_prefix(taken.size());
        return taken;
    }

    void skip_blanks() {
        for (;;) {
            std::size_t size = 0;
            while (size < rest_.size() && std::string_view(" \t\r\n\f").contains(rest_[size])) ++size;
            if (rest_.substr(size).starts_with("//")) {
                const std::size_t end = rest_.find('\n', size);
                size = end == std::string_view::npos ? rest_.size() : end;
            }
            if (size == 0) return;
            take(size);
        }
    }

    void mistake(const Token& token) {
        issues_.add(token.location, "Syntax error: token recognition error at: '" + std::string(token.text) + "'");
    }

    Token make(TokenKind kind, std::size_t size) {
        const Location location = location_;
        return {kind, take(size), location};
    }

    Token next() {
        for (;;) {
            if (rest_.empty()) return {TokenKind::End, "<EOF>", location_};
            if (const std::size_t size = number_size(); size > 0) return make(number_kind_, size);
            if (const std::size_t size = string_size(); size > 0) return make(is_bytes_ ? TokenKind::Bytes : TokenKind::String, size);
            if (is_letter(peek())) return word();
            if (const std::size_t size = escaped_size(); size > 0) return make(TokenKind::EscapedIdentifier, size);
            for (const std::string_view sign : Operators) {
                if (rest_.starts_with(sign)) return make(TokenKind::Operator, sign.size());
            }
            std::size_t size = 1;
            while (size < rest_.size() && (static_cast<unsigned char>(rest_[size]) & 0xC0) == 0x80) ++size;
            if (peek() == '"' || peek() == '\'') size = rest_.size();  // a text without its end
            mistake(make(TokenKind::Operator, size));
            skip_blanks();
        }
    }

    Token word() {
        std::size_t size = 1;
        while (is_letter(peek(size)) || is_digit(peek(size))) ++size;
        const std::string_view text = rest_.substr(0, size);
        const TokenKind kind = text == "true"    ? TokenKind::True
                               : text == "false" ? TokenKind::False
                               : text == "null"  ? TokenKind::Null
                               : text == "in"    ? TokenKind::In
                                                 : TokenKind::Identifier;
        return make(kind, size);
    }

    std::size_t digits(std::size_t from) const {
        std::size_t size = 0;
        while (is_digit(peek(from + size))) ++size;
        return size;
    }

    /// "e+10" at that offset, or 0.
    std::size_t exponent(std::size_t from) const {
        if (peek(from) != 'e' && peek(from) != 'E') return 0;
        const std::size_t sign = peek(from + 1) == '+' || peek(from + 1) == '-' ? 1 : 0;
        const std::size_t size = digits(from + 1 + sign);
        return size ? 1 + sign + size : 0;
    }

    std::size_t number_size() {
        const std::size_t whole = digits(0);
        number_kind_ = TokenKind::Int;
        if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
            std::size_t size = 3;
            while (is_hex(peek(size))) ++size;
            return with_suffix(size);
        }
        std::size_t size = whole;
        if (peek(size) == '.' && digits(size + 1) > 0) {
            size += 1 + digits(size + 1);
            number_kind_ = TokenKind::Double;
        }
        if (size == 0) return 0;
        if (const std::size_t more = exponent(size)) {
            number_kind_ = TokenKind::Double;
            return size + more;
        }
        return number_kind_ == TokenKind::Double ? size : with_suffix(size);
    }

    std::size_t with_suffix(std::size_t size) {
        if (peek(size) != 'u' && peek(size) != 'U') return size;
        number_kind_ = TokenKind::Uint;
        return size + 1;
    }

    std::size_t escaped_size() const {
        if (peek() != '`') return 0;
        std::size_t size = 1;
        while (is_letter(peek(size)) || is_digit(peek(size)) || (peek(size) && std::string_view(".-/ ").contains(peek(size)))) ++size;
        return size > 1 && peek(size) == '`' ? size + 1 : 0;
    }

    /// Of a text with its prefixes and quotes; 0 where there is none, or its end is missing.
    std::size_t string_size() {
        std::size_t at = 0;
        is_bytes_ = peek(at) == 'b' || peek(at) == 'B';
        if (is_bytes_) ++at;
        const bool is_raw = peek(at) == 'r' || peek(at) == 'R';
        if (is_raw) ++at;
        const char quote = peek(at);
        if (quote != '"' && quote != '\'') return 0;
        const std::string long_quote(3, quote);
        if (rest_.substr(at).starts_with(long_quote)) {
            if (const std::size_t size = end_of_string(at + 3, long_quote, is_raw)) return size;
        }
        return end_of_string(at + 1, std::string(1, quote), is_raw);
    }

    std::size_t end_of_string(std::size_t at, const std::string& quote, bool is_raw) const {
        while (at < rest_.size()) {
            if (rest_.substr(at).starts_with(quote)) return at + quote.size();
            if (quote.size() == 1 && (rest_[at] == '\n' || rest_[at] == '\r')) return 0;
            if (!is_raw && rest_[at] == '\\') {
                const std::size_t size = escape_size(at);
                if (size == 0) return 0;
                at += size;
            } else {
                ++at;
            }
        }
        return 0;
    }

    bool are_hex(std::size_t at, std::size_t count) const {
        for (std::size_t i = 0; i < count; ++i) {
            if (!is_hex(peek(at + i))) return false;
        }
        return true;
    }

    std::size_t escape_size(std::size_t at) const {
        const char c = peek(at + 1);
        if (c && std::string_view("abfnrtv\"'\\?`").contains(c)) return 2;
        if ((c == 'x' || c == 'X') && are_hex(at + 2, 2)) return 4;
        if (c == 'u' && are_hex(at + 2, 4)) return 6;
        if (c == 'U' && are_hex(at + 2, 8)) return 10;
        const auto is_octal = [](char d) { return d >= '0' && d <= '7'; };
        if (c >= '0' && c <= '3' && is_octal(peek(at + 2)) && is_octal(peek(at + 3))) return 4;
        return 0;
    }

    std::string_view rest_;
    Issues& issues_;
    Location location_{1, 0};
    TokenKind number_kind_ = TokenKind::Int;
    bool is_bytes_ = false;
};

std::uint32_t hex_value(char c) { return static_cast<std::uint32_t>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10); }

bool is_code_point(std::uint32_t point) { return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF); }

/// Takes one escape, the backslash first, off `text`.
bool unescape_one(std::string_view& text, bool is_bytes, std::string& value, std::string& mistake) {
    const char c = text[1];
    constexpr std::string_view Signs = "abfnrtv\"'\\?`", Meanings = "\a\b\f\n\r\t\v\"'\\?`";
    if (const std::size_t at = Signs.find(c); at != std::string_view::npos) {
        value += Meanings[at];
        text.remove_prefix(2);
        return true;
    }
    std::uint32_t point = 0;
    std::size_t size = 4;
    if (is_digit(c)) {
        for (std::size_t i = 1; i < 4; ++i) point = point * 8 + static_cast<std::uint32_t>(text[i] - '0');
    } else {
        size = c == 'u' ? 6 : c == 'U' ? 10 : 4;
        if (is_bytes && size != 4) {
            mistake = "unable to unescape string";
            return false;
        }
        for (std::size_t i = 2; i < size; ++i) point = point * 16 + hex_value(text[i]);
    }
    text.remove_prefix(size);
    if (is_bytes) {
        value += static_cast<char>(point);
        return true;
    }
    if (!is_code_point(point)) {
        mistake = "invalid unicode code point";
        return false;
    }
    append_code_point(point, value);
    return true;
}

}  // namespace

void append_code_point(std::uint32_t point, std::string& out) {
    const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xC0 | point >> 6);
        add(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        add(0xE0 | point >> 12);
        add(0x80 | (point >> 6 & 0x3F));
        add(0x80 | (point & 0x3F));
    } else {
        add(0xF0 | point >> 18);
        add(0x80 | (point >> 12 & 0x3F));
        add(0x80 | (point >> 6 & 0x3F));
        add(0x80 | (point & 0x3F));
    }
}

std::vector<Token> tokenize(std::string_view source, Issues& issues) { return Lexer(source, issues).run(); }

bool unquote(std::string_view literal, bool is_bytes, std::string& value, std::string& mistake) {
    if (is_bytes) literal.remove_prefix(1);
    const bool is_raw = literal.front() == 'r' || literal.front() == 'R';
    if (is_raw) literal.remove_prefix(1);
    const std::size_t quote = literal.size() >= 6 && literal[0] == literal[1] && literal[1] == literal[2] ? 3 : 1;
    literal = literal.substr(quote, literal.size() - 2 * quote);
    while (!literal.empty()) {
        if (literal.front() == '\r') {
            value += '\n';
            literal.remove_prefix(literal.starts_with("\r\n") ? 2 : 1);
        } else if (!is_raw && literal.front() == '\\') {
            if (!unescape_one(literal, is_bytes, value, mistake)) return false;
        } else {
            value += literal.front();
            literal.remove_prefix(1);
        }
    }
    return true;
}

}  // namespace porthole::cel
