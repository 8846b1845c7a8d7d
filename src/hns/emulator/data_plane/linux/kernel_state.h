#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace porthole::hns::emulator {

/// An element of a named set (without data) or map of our nftables table, in nft's syntax.
struct Element {
    std::string set, key, data;
};

/// A chain of our table that some object needs; `rules` are lines.
struct Chain {
    std::string name, rules;
};

/// Fixtures are created in this order, and removed in the opposite one.
enum class Stage { Namespace, Switch, Link, Address, Route };

/// Anything outside nftables: a link, an address, a route ..., created and removed by lines that a program reads in batches.
struct Fixture {
    std::string key;  ///< unique: "link hnsep3", "route 10.96.0.0/12"
    Stage stage = Stage::Link;
    std::string program;       ///< ip, bridge, tc; or "namespace" and "switch", which the executor handles itself
    std::string place;         ///< path of the network namespace; "" for the host's
    std::string make, unmake;  ///< lines
    std::string parent;        ///< key of the fixture whose removal also removes this one
    bool replaces = true;      ///< `make` also changes an older fixture of the same key into this one
};

/// The kernel state that one object of the model needs. Several objects may need the same thing.
struct Contribution {
    std::vector<Element> elements;
    std::vector<Chain> chains;
    std::vector<Fixture> fixtures;
};

/// A value before and after a change; nullopt if absent.
template <class T>
struct Difference {
    std::optional<T> before, after;
};

/// All that a change adds, changes and removes.
struct StateDelta {
    std::vector<Difference<Element>> elements;
    std::vector<Difference<Chain>> chains;
    std::vector<Difference<Fixture>> fixtures;
    bool empty() const { return elements.empty() && chains.empty() && fixtures.empty(); }
};

/// The wanted kernel state: the sum of contributions, with reference counts, because objects share things (a switch, the address of a
/// service).
class KernelState {
public:
    /// Replaces `before` by `after`; returns the resulting changes. change(after, before) reverts it.
    StateDelta change(const Contribution& before, const Contribution& after);

    std::vector<Element> elements() const;
    std::vector<Chain> chains() const;
    /// In the order of their keys.
    std::vector<Fixture> fixtures() const;
    bool empty() const { return elements_.empty() && chains_.empty() && fixtures_.empty(); }

private:
    /// If contributions disagree about one key, the smallest text is used: any fixed choice is sufficient.
    template <class T>
    struct Counted {
        std::map<std::string, std::pair<T, int>> variants;
    };
    template <class T>
    using Things = std::map<std::string, Counted<T>>;

    template <class T>
    static std::vector<Difference<T>> change(Things<T>& things, const std::vector<T>& before, const std::vector<T>& after);
    template <class T>
    static std::vector<T> effective(const Things<T>& things);

    Things<Element> elements_;
    Things<Chain> chains_;
    Things<Fixture> fixtures_;
};

}  // namespace porthole::hns::emulator
