#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace porthole::schema {

/// The path from an object's root to the current position of a walk, as a chain on the stack: its text is only built for a report. Borrows
/// its parent and names: a step must not outlive the call that created it.
struct PathStep {
    enum class Kind { Root, Name, Index, Key };

    const PathStep* parent = nullptr;
    Kind kind = Kind::Root;
    std::string_view name;  ///< of a field, or a map's key
    std::size_t position = 0;

    PathStep child(std::string_view field) const { return {this, Kind::Name, field, 0}; }
    PathStep index(std::size_t at) const { return {this, Kind::Index, {}, at}; }
    PathStep key(std::string_view key) const { return {this, Kind::Key, key, 0}; }
    /// A root with a text in front of all others: `prefix` must outlive it.
    static PathStep root(std::string_view prefix) { return {nullptr, Kind::Root, prefix, 0}; }

    /// "spec.containers[0].env[KEY]": as Kubernetes' field errors have it.
    std::string text() const;
    /// "spec.containers[0].env.KEY": as its strict decoding has it.
    std::string strict_text() const;
    /// "spec.containers.env": as Go's decoder has it, without indices and keys.
    std::string go_text() const;
};

}  // namespace porthole::schema
