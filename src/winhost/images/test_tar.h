#pragma once  // for tests
#include <array>
#include <cstdio>
#include <string>

namespace porthole::winhost {

/// Writes tar files, including invalid ones.
class TestTar {
public:
    TestTar& file(const std::string& name, const std::string& content) { return entry('0', name, "", content); }
    TestTar& folder(const std::string& name) { return entry('5', name, "", ""); }
    TestTar& symbolic_link(const std::string& name, const std::string& target) { return entry('2', name, target, ""); }
    TestTar& hard_link(const std::string& name, const std::string& target) { return entry('1', name, target, ""); }
    TestTar& entry(char type, const std::string& name, const std::string& target, const std::string& content) {
        if (name.size() >= 100) pax("path", name);
        if (target.size() >= 100) pax("linkpath", target);
        add(type, name.substr(0, 99), target.substr(0, 99), content);
        return *this;
    }
    /// A record for the next entry.
    TestTar& pax(const std::string& key, const std::string& value) {
        std::string line = " " + key + "=" + value + "\n";
        std::size_t length = line.size() + 1;
        while (std::to_string(length).size() + line.size() != length) ++length;
        add('x', "pax", "", std::to_string(length) + line);
        return *this;
    }
    std::string text() const { return bytes_ + std::string(1024, '\0'); }

private:
    void add(char type, const std::string& name, const std::string& target, const std::string& content) {
        std::array<char, 512> block{};
        name.copy(block.data(), 100);
        std::snprintf(block.data() + 100, 8, "%07o", 0644);
        std::snprintf(block.data() + 124, 12, "%011zo", content.size());
        std::snprintf(block.data() + 136, 12, "%011o", 1'600'000'000);
        std::fill_n(block.data() + 148, 8, ' ');
        block[156] = type;
        target.copy(block.data() + 157, 100);
        std::string(
            "ustar\0"
            "00",
            8)
            .copy(block.data() + 257, 8);
        unsigned sum = 0;
        for (const char c : block) sum += static_cast<unsigned char>(c);
        std::snprintf(block.data() + 148, 8, "%06o", sum);
        bytes_.append(block.data(), block.size());
        bytes_ += content;
        bytes_.append((512 - content.size() % 512) % 512, '\0');
    }
    std::string bytes_;
};

}  // namespace porthole::winhost
