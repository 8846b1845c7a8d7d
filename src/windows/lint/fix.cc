#include "windows/lint/fix.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <tuple>

#include "windows/lint/edits.h"

namespace porthole::windows::lint {
namespace {

using schema::Value;
using schema::YamlNode;

constexpr std::size_t MostRounds = 64, MostAttempts = 1000;  // bounds for hostile texts; each reads the text once

/// An edit with its place in the text.
struct Proposal {
    std::string problem;  ///< code and path of the problem it comes from
    std::size_t document = 0;
    Edit edit;
    std::vector<TextChange> changes;

    std::size_t begin() const { return changes.front().begin; }
    std::size_t end() const { return changes.back().end; }
};

std::string identity(const Problem& problem) {
    return std::string(problem.rule->code) + " " + std::to_string(problem.document) + " " + problem.path;
}

/// The path of the mapping that the edit changes.
std::string mapping_of(const Proposal& proposal) {
    std::string path = std::to_string(proposal.document);
    const std::size_t count =
        proposal.edit.steps.size() - (proposal.edit.kind == Edit::Kind::Insert || proposal.edit.steps.empty() ? 0 : 1);
    for (std::size_t i = 0; i < count; ++i) path += "\n" + proposal.edit.steps[i];
    return path;
}

/// Which edits of one mapping can be made in one round: an edit may move another's place, and a mapping that loses its last member is
/// written in another way.
class Mappings {
public:
    /// `siblings` is how many members the mapping has in addition to the edit's.
    bool admit(const Proposal& proposal, std::size_t siblings) {
        Round& round = rounds_[mapping_of(proposal)];
        if (proposal.edit.kind != Edit::Kind::Remove) {
            if (round.removed || round.changed) return false;
            return round.changed = true;
        }
        if (round.changed || (round.removed > 0 && round.removed >= siblings)) return false;
        ++round.removed;
        return true;
    }

private:
    struct Round {
        std::size_t removed = 0;
        bool changed = false;
    };
    std::map<std::string, Round> rounds_;
};

std::string with_changes(std::string text, std::vector<TextChange> changes) {
    std::ranges::sort(changes, std::greater(), &TextChange::begin);
    for (const TextChange& one : changes) text.replace(one.begin, one.end - one.begin, one.text);
    return text;
}

/// The text with all proposals; nullopt where reading it does not yield what they are meant to make of the trees.
std::optional<std::string> attempt(const std::string& text, const std::vector<Value>& trees, std::span<const Proposal> proposals) {
    std::vector<Value> expected = trees;
    std::vector<TextChange> changes;
    for (const Proposal& one : proposals) {
        if (!apply(one.edit, expected[one.document])) return std::nullopt;
        changes.insert(changes.end(), one.changes.begin(), one.changes.end());
    }
    std::string changed = with_changes(text, std::move(changes));
    const auto read = parse(changed);
    if (!read || *read != expected) return std::nullopt;
    return changed;
}

/// Fixes one text round by round.
class Fixer {
public:
    Fixer(std::string_view text, const Options& options) : options_(options) { fixed_.text = text; }

    Result<Fixed> run() {
        TRY(fixed_.left, check(fixed_.text, options_));
        for (std::size_t round = 0; round < MostRounds; ++round) {
            TRY(std::vector<Value> trees, parse(fixed_.text));
            const std::vector<Proposal> proposals = propose(trees);
            if (proposals.empty()) break;
            accept(proposals, trees);
            TRY(fixed_.left, check(fixed_.text, options_));
        }
        for (Problem& one : fixed_.left.problems) one.fixable = false;
        return std::move(fixed_);
    }

private:
    std::vector<Proposal> propose(const std::vector<Value>& trees) const {
        std::vector<Proposal> all;
        const auto outline = schema::outline_yaml(fixed_.text);
        if (!outline || outline->size() != trees.size()) return all;
        Mappings mappings;
        for (const Problem& problem : fixed_.left.problems) {
            if (!problem.fixable || given_up_.contains(identity(problem))) continue;
            for (Edit& edit : edits_for(problem.rule->code, problem.path, trees[problem.document])) {
                Proposal one{identity(problem), problem.document, std::move(edit), {}};
                const YamlNode& document = (*outline)[problem.document];
                one.changes = changes_for(one.edit, document, fixed_.text);
                if (!one.changes.empty() && mappings.admit(one, siblings_of(one.edit, document))) all.push_back(std::move(one));
            }
        }
        std::ranges::sort(all, {}, [](const Proposal& one) { return std::tuple(one.begin(), std::string_view(one.problem), one.end()); });
        std::size_t end = 0;
        std::erase_if(all, [&](const Proposal& one) {  // of two that overlap the later one waits for the next round
            if (one.begin() < end) return true;
            end = std::max(one.end(), one.begin() + 1);
            return false;
        });
        return all;
    }

    static std::size_t siblings_of(const Edit& edit, const YamlNode& document) {
        const YamlNode* at = &document;
        for (std::size_t i = 0; at && i + 1 < edit.steps.size(); ++i) at = at->find(edit.steps[i]);
        return at && !at->children.empty() ? at->children.size() - 1 : 0;
    }

    /// Makes all, or by halves those that do what they are meant to do. `trees` are those of the text as it is.
    void accept(std::span<const Proposal> proposals, std::vector<Value>& trees) {
        if (proposals.empty() || attempts_ == MostAttempts) return;
        ++attempts_;
        if (auto changed = attempt(fixed_.text, trees, proposals)) {
            fixed_.text = *std::move(changed);
            fixed_.edits += proposals.size();
            for (const Proposal& one : proposals) apply(one.edit, trees[one.document]);
        } else if (proposals.size() == 1) {
            given_up_.insert(proposals.front().problem);
        } else {
            // From the end, so that the places of those before stay.
            const std::size_t half = proposals.size() / 2;
            accept(proposals.subspan(half), trees);
            accept(proposals.first(half), trees);
        }
    }

    const Options& options_;
    Fixed fixed_;
    std::set<std::string> given_up_;
    std::size_t attempts_ = 0;
};

}  // namespace

Result<Fixed> fix(std::string_view text, const Options& options) { return Fixer(text, options).run(); }

}  // namespace porthole::windows::lint
