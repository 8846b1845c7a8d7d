#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/issues.h"

namespace porthole::cel {

enum class TokenKind : std::uint8_t {
    End,
    Identifier,
    EscapedIdentifier,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Operator,
    True,
    False,
    Null,
    In
};

/// A token of the source. `text` points into it.
struct Token {
    TokenKind kind = TokenKind::End;
    std::string_view text;
    Location location;

    bool is(TokenKind other) const { return kind == other; }
    bool is(std::string_view sign) const { return kind == TokenKind::Operator && text == sign; }
};

/// The tokens of `source`, the last being End. Bytes that begin no token are reported as issues and skipped.
std::vector<Token> tokenize(std::string_view source, Issues& issues);

/// The value of a literal with its quotes and prefixes. False, and a message in `mistake`, for an invalid escape.
bool unquote(std::string_view literal, bool is_bytes, std::string& value, std::string& mistake);

/// Adds a code point in UTF-8.
void append_code_point(std::uint32_t point, std::string& out);

}  // namespace porthole::cel
