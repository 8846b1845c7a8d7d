#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// One of Wine's registry files (system.reg, user.reg) as text, to be edited while no Wine uses it. Key paths are written with single
/// backslashes and, like value names, match in any case. A key that is a link is replaced by its target: in Wine 10
/// System\CurrentControlSet is one.
class RegistryFile {
public:
    /// Error: Invalid for a text that is not a registry file of Wine.
    static Result<RegistryFile> parse(std::string_view text);
    std::string text() const;

    /// The value as the file writes it (`"text"`, `dword:00000004`), or "" if there is none. Of values over several lines the first.
    std::string value(std::string_view key, std::string_view name) const;
    /// Creates the key if it is missing.
    void set(std::string_view key, std::string_view name, std::string_view value);
    void remove_value(std::string_view key, std::string_view name);
    /// The key and all below it.
    void remove_tree(std::string_view key);

    static std::string quoted(std::string_view text);
    static std::string number(std::uint32_t value);

    struct Key {
        std::string path;                ///< as written, escaped
        std::string head;                ///< the whole first line
        std::vector<std::string> lines;  ///< a value over several lines is one entry
    };
    /// All of them, in the file's order, for many changes at once.
    const std::vector<Key>& keys() const { return keys_; }
    void replace_keys(std::vector<Key> keys) { keys_ = std::move(keys); }
    /// The path of the key, with links on the way resolved. Input and output are escaped.
    std::string resolved(std::string path) const;

private:
    struct Link {
        std::string path, target;  ///< escaped
    };
    Key* find(std::string_view key);
    const Key* find(std::string_view key) const;

    std::string preamble_;
    std::vector<Key> keys_;
    std::vector<Link> links_;
};

}  // namespace porthole::winhost
