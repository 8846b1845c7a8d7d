#include "winhost/template/registry_file.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"

namespace porthole::winhost {
namespace {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        if (letter == '\\' || letter == '"') result.push_back('\\');
        result.push_back(letter);
    }
    return result;
}

/// How a line that sets `name` begins.
std::string prefix_of(std::string_view name) { return name.empty() ? "@=" : "\"" + escaped(name) + "\"="; }

bool sets(const std::string& line, std::string_view prefix) {
    return line.size() >= prefix.size() && equal_ignoring_case(std::string_view(line).substr(0, prefix.size()), prefix);
}

}  // namespace

Result<RegistryFile> RegistryFile::parse(std::string_view text) {
    if (!text.starts_with("WINE REGISTRY Version 2")) return Error(Reason::Invalid, "not a registry file of Wine");
    RegistryFile file;
    bool continued = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (continued) {
            file.keys_.back().lines.back() += "\n" + line;
        } else if (line.starts_with('[')) {
            const std::size_t close = line.rfind(']');
            if (close == line.npos) return Error(Reason::Invalid, "a registry file has a broken key: " + line);
            file.keys_.push_back({line.substr(1, close - 1), line, {}});
            continue;  // only values go on in the next line
        } else if (file.keys_.empty()) {
            file.preamble_ += line + "\n";
            continue;
        } else if (!line.empty()) {
            file.keys_.back().lines.push_back(line);
        }
        continued = line.ends_with('\\');
    }
    if (continued) return Error(Reason::Invalid, "a registry file ends within a value");
    return file;
}

std::string RegistryFile::text() const {
    std::string text = preamble_;
    for (const Key& key : keys_) {
        text += key.head + "\n";
        for (const std::string& line : key.lines) text += line + "\n";
        text += "\n";
    }
    return text;
}

RegistryFile::Key* RegistryFile::find(std::string_view key) {
    const std::string path = escaped(key);
    const auto found =
        std::find_if(keys_.begin(), keys_.end(), [&](const Key& candidate) { return equal_ignoring_case(candidate.path, path); });
    return found == keys_.end() ? nullptr : &*found;
}
const RegistryFile::Key* RegistryFile::find(std::string_view key) const { return const_cast<RegistryFile*>(this)->find(key); }

std::string RegistryFile::value(std::string_view key, std::string_view name) const {
    const Key* found = find(key);
    const std::string prefix = prefix_of(name);
    if (found) {
        for (const std::string& line : found->lines)
            if (sets(line, prefix)) return line.substr(prefix.size());
    }
    return "";
}

void RegistryFile::set(std::string_view key, std::string_view name, std::string_view value) {
    Key* found = find(key);
    if (!found) found = &keys_.emplace_back(Key{escaped(key), "[" + escaped(key) + "] 1", {}});
    const std::string prefix = prefix_of(name);
    const std::string line = prefix + std::string(value);
    for (std::string& old : found->lines) {
        if (!sets(old, prefix)) continue;
        old = line;
        return;
    }
    found->lines.push_back(line);
}

void RegistryFile::remove_value(std::string_view key, std::string_view name) {
    if (Key* found = find(key))
        std::erase_if(found->lines, [prefix = prefix_of(name)](const std::string& line) { return sets(line, prefix); });
}

void RegistryFile::remove_tree(std::string_view key) {
    const std::string path = escaped(key), below = path + "\\\\";
    std::erase_if(keys_, [&](const Key& candidate) {
        return equal_ignoring_case(candidate.path, path) ||
               equal_ignoring_case(std::string_view(candidate.path).substr(0, below.size()), below);
    });
}

std::string RegistryFile::quoted(std::string_view text) { return "\"" + escaped(text) + "\""; }

std::string RegistryFile::number(std::uint32_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "dword:%08x", value);
    return text;
}

}  // namespace porthole::winhost
