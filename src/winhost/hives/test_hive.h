#pragma once  // for tests
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "winhost/hives/hive.h"

namespace porthole::winhost {

/// UTF-16LE with its NUL, as in REG_SZ.
inline std::string utf16(std::u16string_view text) {
    std::string bytes;
    for (const char16_t unit : std::u16string(text) + u'\0') {
        bytes.push_back(static_cast<char>(unit & 0xff));
        bytes.push_back(static_cast<char>(unit >> 8));
    }
    return bytes;
}

/// Writes a hive; it shares nothing with what reads them.
class TestHive {
public:
    /// `list`: the kind of the lists of keys: "li", "lf", "lh", or "ri", which is a list of "lh".
    static std::string bytes(const HiveKey& root, const std::string& list = "lh") {
        TestHive hive(list);
        const std::uint32_t at = hive.key(root, 0x2c);
        const std::size_t end = hive.cells_.size();
        hive.cells_.resize((end + 4095) / 4096 * 4096);
        const std::size_t free = hive.cells_.size() - end;
        if (free > 0) put(hive.cells_, end, static_cast<std::uint32_t>(free));  // a cell that is not in use
        put(hive.cells_, 8, static_cast<std::uint32_t>(hive.cells_.size()));
        std::string header(4096, '\0');
        header.replace(0, 4, "regf");
        put(header, 4, 1);
        put(header, 8, 1);
        put(header, 20, 1);
        put(header, 24, 6);
        put(header, 32, 1);
        put(header, 36, at);
        put(header, 40, static_cast<std::uint32_t>(hive.cells_.size()));
        put(header, 44, 1);
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < 508; i += 4) {
            std::uint32_t word = 0;
            std::memcpy(&word, header.data() + i, 4);
            sum ^= word;
        }
        put(header, 508, sum);
        return header + hive.cells_;
    }

private:
    explicit TestHive(std::string list) : list_(std::move(list)), cells_("hbin" + std::string(28, '\0')) {}

    static void put(std::string& text, std::size_t at, std::uint32_t value, std::size_t size = 4) {
        for (std::size_t i = 0; i < size; ++i) text[at + i] = static_cast<char>(value >> (8 * i));
    }
    static bool is_latin(const std::u16string& name) {
        return std::ranges::all_of(name, [](char16_t c) { return c < 0x100; });
    }
    static std::string name_bytes(const std::u16string& name) {
        if (is_latin(name)) return std::string(name.begin(), name.end());
        std::string wide = utf16(name);
        wide.resize(wide.size() - 2);
        return wide;
    }

    std::uint32_t cell(const std::string& content) {
        const std::size_t at = cells_.size(), size = (content.size() + 4 + 7) / 8 * 8;
        cells_.resize(at + size);
        put(cells_, at, 0U - static_cast<std::uint32_t>(size));
        cells_.replace(at + 4, content.size(), content);
        return static_cast<std::uint32_t>(at);
    }
    std::uint32_t list_of(const std::string& kind, const std::vector<std::uint32_t>& offsets) {
        std::string text = kind + std::string(2, '\0');
        put(text, 2, static_cast<std::uint32_t>(offsets.size()), 2);
        for (const std::uint32_t offset : offsets) {
            text.resize(text.size() + (kind == "lf" || kind == "lh" ? 8 : 4));
            put(text, text.size() - (kind == "lf" || kind == "lh" ? 8 : 4), offset);
        }
        return cell(text);
    }
    std::uint32_t data(const std::string& bytes) {
        constexpr std::size_t Segment = 16344;
        if (bytes.size() <= Segment) return cell(bytes);
        std::string list;
        for (std::size_t at = 0; at < bytes.size(); at += Segment) {
            list.resize(list.size() + 4);
            put(list, list.size() - 4, cell(bytes.substr(at, Segment)));
        }
        std::string big(8, '\0');
        big.replace(0, 2, "db");
        put(big, 2, static_cast<std::uint32_t>(list.size() / 4), 2);
        put(big, 4, cell(list));
        return cell(big);
    }
    std::uint32_t value(const HiveValue& value) {
        const std::string name = name_bytes(value.name);
        std::string text(20, '\0');
        text.replace(0, 2, "vk");
        put(text, 2, static_cast<std::uint32_t>(name.size()), 2);
        put(text, 12, value.type);
        put(text, 16, (is_latin(value.name) ? 1U : 0U) | (value.is_tombstone ? 2U : 0U), 2);
        if (value.is_tombstone) {
            put(text, 8, 0xffffffff);
        } else if (value.data.size() <= 4) {
            put(text, 4, 0x80000000U | static_cast<std::uint32_t>(value.data.size()));
            text.replace(8, value.data.size(), value.data);
        } else {
            put(text, 4, static_cast<std::uint32_t>(value.data.size()));
            put(text, 8, data(value.data));
        }
        return cell(text + name);
    }
    std::uint32_t key(const HiveKey& key, std::uint32_t flags) {
        std::vector<std::uint32_t> keys;
        std::string values;
        for (const HiveKey& child : key.keys) keys.push_back(this->key(child, 0));
        for (const HiveValue& one : key.values) {
            values.resize(values.size() + 4);
            put(values, values.size() - 4, value(one));
        }
        const std::u16string named = key.name.empty() ? u"ROOT" : key.name;
        const std::string name = name_bytes(named);
        std::string text(76, '\0');
        text.replace(0, 2, "nk");
        put(text, 2, flags | (is_latin(named) ? 0x20U : 0U) | (key.is_link ? 0x10U : 0U), 2);
        put(text, 12, static_cast<std::uint32_t>(key.layering) << 8U);
        put(text, 20, static_cast<std::uint32_t>(keys.size()));
        put(text, 28, keys.empty() ? 0xffffffff : list_ == "ri" ? list_of("ri", {list_of("lh", keys)}) : list_of(list_, keys));
        put(text, 36, static_cast<std::uint32_t>(key.values.size()));
        put(text, 40, values.empty() ? 0xffffffff : cell(values));
        put(text, 44, 0xffffffff);
        put(text, 48, 0xffffffff);
        put(text, 72, static_cast<std::uint32_t>(name.size()), 2);
        return cell(text + name);
    }

    std::string list_, cells_;
};

}  // namespace porthole::winhost
