#include "apiserver/resources/continue_token.h"

#include <array>
#include <optional>

#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr std::int64_t Present = -1;  ///< in place of a revision

constexpr std::string_view Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view bytes) {
    std::string text;
    std::uint32_t bits = 0;
    int count = 0;
    for (const unsigned char byte : bytes) {
        bits = bits << 8 | byte;
        count += 8;
        for (; count >= 6; count -= 6) text += Alphabet[bits >> (count - 6) & 63];
    }
    if (count > 0) text += Alphabet[bits << (6 - count) & 63];
    return text;
}

std::optional<std::string> decode(std::string_view text) {
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        if (c == '=') break;
        const std::size_t digit = Alphabet.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 0xff);
    }
    return bytes;
}

}  // namespace

Result<ContinueToken> ContinueToken::parse(std::string_view text, std::string_view prefix) {
    const auto refused = [](const std::string& why) { return Error(Reason::BadRequest, "continue key is not valid: " + why); };
    const auto bytes = decode(text);
    if (!bytes) return refused("illegal base64 data");
    const auto tree = schema::parse_json(*bytes);
    if (!tree || tree->string_at({"v"}) != "meta.k8s.io/v1") return refused("incorrect encoded continue token version");
    const std::int64_t revision = schema::at(*tree, "rv").int_or(0);
    const std::string_view start = tree->string_at({"start"});
    if ((revision <= 0 && revision != Present) || start.empty() || start.contains(".."))
        return refused("incorrect encoded start resourceVersion or key");
    return ContinueToken{store::Revision(revision == Present ? 0 : static_cast<std::uint64_t>(revision)),
                         std::string(prefix) + std::string(start)};
}

Result<std::string> ContinueToken::of_the_present(std::string_view text) {
    TRY(ContinueToken token, parse(text, ""));
    token.revision = store::Revision();
    return token.text("");
}

std::string ContinueToken::text(std::string_view prefix) const {
    const std::int64_t shown = revision == store::Revision() ? Present : static_cast<std::int64_t>(revision.value);
    return encode(schema::to_json(
        schema::Value::object({{"v", "meta.k8s.io/v1"}, {"rv", shown}, {"start", std::string_view(start_key).substr(prefix.size())}})));
}

}  // namespace porthole::apiserver
