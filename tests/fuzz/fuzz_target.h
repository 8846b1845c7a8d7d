#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include "schema/value.h"

/// Defines one of several targets of a source, which porthole_fuzz lists as TARGETS. What follows in braces gets the input as `text`.
#define FUZZ_TARGET(name)                                                    \
    static void name##_takes(std::string_view text);                         \
    extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size) { \
        name##_takes({reinterpret_cast<const char*>(data), size});           \
        return 0;                                                            \
    }                                                                        \
    static void name##_takes([[maybe_unused]] std::string_view text)

namespace porthole::fuzz {

/// What has to hold, whatever the input is.
inline void expect(bool holds) {
    if (!holds) std::abort();
}

/// Takes the input up to the next `separator`.
inline std::string_view cut(std::string_view& rest, char separator) {
    const std::string_view part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
}

/// Decisions by the bytes of an input, so that inputs which a parser would refuse at once become documents of the right form.
class Choices {
public:
    explicit Choices(std::string_view bytes) : bytes_(bytes) {}
    bool empty() const { return bytes_.empty(); }
    /// 0 when the input has ended.
    std::size_t below(std::size_t bound) {
        if (bytes_.empty() || bound == 0) return 0;
        const auto byte = static_cast<unsigned char>(bytes_.front());
        bytes_.remove_prefix(1);
        return byte % bound;
    }
    template <class T>
    const T& of(std::initializer_list<T> all) {
        return *(all.begin() + below(all.size()));
    }
    template <class List>
    const auto& of(const List& all) {
        return *(std::begin(all) + static_cast<std::ptrdiff_t>(below(std::size(all))));
    }
    /// Raw bytes of the input.
    std::string text(std::size_t most) {
        const std::size_t size = below(most + 1);
        const std::string_view part = bytes_.substr(0, size);
        bytes_.remove_prefix(part.size());
        return std::string(part);
    }

private:
    std::string_view bytes_;
};

/// The words that documents of a target are made of.
struct Vocabulary {
    std::initializer_list<const char*> keys, texts;
};

/// A document of those words, at most `depth` deep.
inline schema::Value make_value(Choices& choices, const Vocabulary& words, int depth) {
    switch (choices.below(depth > 0 ? 9 : 6)) {
        case 0:
            return choices.of(words.texts);
        case 1:
            return static_cast<std::int64_t>(choices.below(256)) - 3;
        case 2:
            return choices.below(2) == 1;
        case 3:
            return {};
        case 4:
            return choices.text(20);
        case 5:
            return 1.5;
        case 6: {
            schema::Array items;
            for (std::size_t i = choices.below(4); i > 0; --i) items.push_back(make_value(choices, words, depth - 1));
            return items;
        }
        default: {
            schema::Value object = schema::Value::object();
            for (std::size_t i = choices.below(6); i > 0; --i) {
                const std::string key = choices.of(words.keys);
                object[key] = make_value(choices, words, depth - 1);
            }
            return object;
        }
    }
}

}  // namespace porthole::fuzz
