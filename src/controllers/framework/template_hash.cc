#include "controllers/framework/template_hash.h"

#include "schema/json.h"

namespace porthole::controllers {
namespace {

constexpr std::string_view Alphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::uint32_t Prime = 16777619u;

}  // namespace

std::string safe_encode(std::string_view decimal) {
    std::string text;
    for (const char c : decimal) text += Alphabet[static_cast<unsigned char>(c) % Alphabet.size()];
    return text;
}

std::uint32_t fnv1(std::string_view bytes, std::uint32_t hash) {
    for (const char c : bytes) hash = (hash * Prime) ^ static_cast<unsigned char>(c);
    return hash;
}

std::uint32_t fnv1a(std::string_view bytes, std::uint32_t hash) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * Prime;
    return hash;
}

std::string template_hash(const api::core::v1::PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count) {
    std::uint32_t hash = fnv1a(schema::encode_json(pod_template));
    if (collision_count) {
        char bytes[8] = {};
        for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(static_cast<std::uint32_t>(*collision_count) >> (8 * i));
        hash = fnv1a(std::string_view(bytes, sizeof bytes), hash);
    }
    return safe_encode(std::to_string(hash));
}

}  // namespace porthole::controllers
