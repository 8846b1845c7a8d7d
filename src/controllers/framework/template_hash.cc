#include "controllers/framework/template_hash.h"

#include "base/hash.h"
#include "schema/json.h"

namespace porthole::controllers {
namespace {

constexpr std::string_view Alphabet = "bcdfghjklmnpqrstvwxz2456789";

}  // namespace

std::string safe_encode(std::string_view decimal) {
    std::string text;
    for (const char c : decimal) text += Alphabet[static_cast<unsigned char>(c) % Alphabet.size()];
    return text;
}

std::string template_hash(const api::core::v1::PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count) {
    std::uint32_t hash = fnv1a_32(schema::encode_json(pod_template));
    if (collision_count) {
        char bytes[8] = {};
        for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(static_cast<std::uint32_t>(*collision_count) >> (8 * i));
        hash = fnv1a_32(std::string_view(bytes, sizeof bytes), hash);
    }
    return safe_encode(std::to_string(hash));
}

}  // namespace porthole::controllers
