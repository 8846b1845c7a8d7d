#include "apiserver/request/user_agent.h"

#include <algorithm>
#include <array>
#include <utility>

namespace porthole::apiserver {
namespace {

constexpr std::size_t LongestManager = 128;  ///< bytes, as that of the option fieldManager

/// One character of UTF-8 at the beginning of `text`; of one byte and without a value when it is not valid.
struct Character {
    char32_t value = 0xFFFD;
    std::size_t size = 1;
};

Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    constexpr std::array<char32_t, 5> Smallest{0, 0, 0x80, 0x800, 0x10000};
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
    char32_t value = lead & (0xFFu >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return {};
        value = value << 6 | (byte(i) & 0x3Fu);
    }
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < Smallest[size] || value > 0x10FFFF || surrogate) return {};
    return {value, size};
}

/// Controls, blanks other than the space, invisible marks, private and invalid characters. Differs from Kubernetes: unassigned characters
/// pass, so that this is no table of a Unicode version.
bool is_printable(char32_t c) {
    if (c >= 0x20 && c < 0x7F) return true;  // as nearly all are
    constexpr std::pair<char32_t, char32_t> Hidden[] = {{0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},       {0x61C, 0x61C},
                                                        {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F},   {0x2028, 0x202F},
                                                        {0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF},   {0xFEFF, 0xFEFF},
                                                        {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF}};
    return std::ranges::none_of(Hidden, [c](const auto& range) { return c >= range.first && c <= range.second; });
}

}  // namespace

std::string manager_of_user_agent(std::string_view agent) {
    agent = agent.substr(0, agent.find('/'));
    std::string manager;
    while (!agent.empty()) {
        const Character character = first_character(agent);
        const bool valid = character.value != 0xFFFD || character.size == 3;
        const std::string_view text = valid ? agent.substr(0, character.size) : std::string_view("\xEF\xBF\xBD");
        agent.remove_prefix(character.size);
        if (!is_printable(character.value)) continue;
        if (manager.size() + text.size() > LongestManager) break;
        manager += text;
    }
    return manager;
}

}  // namespace porthole::apiserver
