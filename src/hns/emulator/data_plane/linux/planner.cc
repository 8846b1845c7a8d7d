#include "hns/emulator/data_plane/linux/planner.h"

#include <algorithm>
#include <set>

#include "hns/emulator/data_plane/linux/affected.h"
#include "hns/emulator/data_plane/linux/rules.h"

namespace porthole::hns::emulator {

namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void append(Contribution& to, Contribution from) {
    append(to.elements, std::move(from.elements));
    append(to.chains, std::move(from.chains));
    append(to.fixtures, std::move(from.fixtures));
}

template <class T>
void add_family(const Table<T>& table, const std::set<std::string>& ids, const View& view, Contribution& all) {
    for (const std::string& id : ids) {
        if (const T* object = find(table, id)) append(all, needs(*object, view));
    }
}

Contribution needs_of(const Affected& ids, const View& view) {
    Contribution all;
    add_family(view.model.namespaces, ids.namespaces, view, all);
    add_family(view.model.networks, ids.networks, view, all);
    add_family(view.model.endpoints, ids.endpoints, view, all);
    add_family(view.model.routes, ids.routes, view, all);
    add_family(view.model.load_balancers, ids.load_balancers, view, all);
    return all;
}

template <class T>
void add_all(const Table<T>& table, const View& view, Contribution& all) {
    for (const auto& [id, object] : table) append(all, needs(*object, view));
}

void add_to_batch(std::vector<Step>& steps, const Fixture& fixture, bool makes) {
    if (steps.empty() || steps.back().program != fixture.program || steps.back().place != fixture.place) {
        steps.push_back({.program = fixture.program, .place = fixture.place, .makes = makes});
    }
    std::string& lines = steps.back().lines;
    lines += makes ? fixture.make : fixture.unmake;
    if (!lines.empty() && lines.back() != '\n') lines += '\n';
}

bool before_in_making(const Fixture& a, const Fixture& b) {
    return std::tie(a.stage, a.program, a.place, a.key) < std::tie(b.stage, b.program, b.place, b.key);
}

/// What a change of fixtures comes to.
struct Work {
    std::vector<Fixture> unmade;  ///< to be taken away by name; what hangs on them goes with them
    std::vector<Fixture> lost;    ///< everything that is no more as it was, for making it again
    std::vector<Fixture> made;
};

Work work_of(const std::vector<Difference<Fixture>>& differences, const KernelState& state) {
    Work work;
    std::set<std::string> gone;
    bool any_remade = false;
    const auto in_place = [](const Difference<Fixture>& d) { return d.after->replaces && d.after->place == d.before->place; };
    for (const auto& difference : differences) {
        const auto& [before, after] = difference;
        if (before) work.lost.push_back(*before);
        if (after) work.made.push_back(*after);
        if (before && (!after || !in_place(difference))) {
            gone.insert(before->key);
            any_remade |= after.has_value();
        }
    }
    for (const Fixture& fixture : work.lost) {
        if (gone.contains(fixture.key) && !gone.contains(fixture.parent)) work.unmade.push_back(fixture);
    }
    if (!any_remade) return work;
    std::set<std::string> made;
    for (const Fixture& fixture : work.made) made.insert(fixture.key);
    for (const Fixture& fixture : state.fixtures()) {
        if (!gone.contains(fixture.parent) || made.contains(fixture.key)) continue;
        work.made.push_back(fixture);
        work.lost.push_back(fixture);
    }
    return work;
}

std::vector<Fixture> of_namespaces(const std::vector<Fixture>& fixtures, bool wanted) {
    std::vector<Fixture> some;
    std::ranges::copy_if(fixtures, std::back_inserter(some), [&](const Fixture& f) { return (f.stage == Stage::Namespace) == wanted; });
    return some;
}

Step rules_step(std::string lines, const std::optional<std::vector<net::NftChange>>& elements) {
    return {.program = "nft", .lines = std::move(lines), .elements = elements.value_or(std::vector<net::NftChange>())};
}

StateDelta reversed(StateDelta delta) {
    for (auto& difference : delta.elements) std::swap(difference.before, difference.after);
    for (auto& difference : delta.chains) std::swap(difference.before, difference.after);
    return delta;
}

}  // namespace

std::string Plan::text() const {
    std::string text;
    for (const Step& step : steps) {
        text += "# " + step.program + (step.makes ? "" : " away") + (step.place.empty() ? "" : " in " + step.place) + "\n" + step.lines;
    }
    return text;
}

std::vector<Step> making_steps(std::vector<Fixture> fixtures) {
    std::ranges::sort(fixtures, before_in_making);
    std::vector<Step> steps;
    for (const Fixture& fixture : fixtures) add_to_batch(steps, fixture, true);
    return steps;
}

std::vector<Step> unmaking_steps(std::vector<Fixture> fixtures) {
    std::ranges::sort(fixtures, [](const Fixture& a, const Fixture& b) { return before_in_making(b, a); });
    std::vector<Step> steps;
    for (const Fixture& fixture : fixtures) add_to_batch(steps, fixture, false);
    return steps;
}

Plan Planner::change(const Model& before, const Model& after, const Changes& changes) {
    const View old_view(before, options_), new_view(after, options_);
    const Affected ids = affected_by(changes, old_view, new_view);
    last_before_ = needs_of(ids, old_view);
    last_after_ = needs_of(ids, new_view);
    const StateDelta delta = state_.change(last_before_, last_after_);
    const bool had_anything = std::exchange(had_anything_, !state_.empty());

    Plan plan;
    const Work work = work_of(delta.fixtures, state_);
    plan.steps = unmaking_steps(of_namespaces(work.unmade, false));
    const bool stays = had_anything && had_anything_;  // the table
    const std::string rules = stays ? table_change(delta) : had_anything == had_anything_ ? "" : all_rules();
    if (!rules.empty()) plan.steps.push_back(rules_step(rules, stays ? element_changes(delta) : std::nullopt));
    append(plan.steps, making_steps(work.made));
    append(plan.steps, unmaking_steps(of_namespaces(work.unmade, true)));

    plan.rollback = unmaking_steps(of_namespaces(work.made, false));
    const StateDelta undone = reversed(delta);
    const std::string back = had_anything ? table_change(undone) : remove_table();
    if (!back.empty()) plan.rollback.push_back(rules_step(back, stays ? element_changes(undone) : std::nullopt));
    append(plan.rollback, making_steps(work.lost));
    append(plan.rollback, unmaking_steps(of_namespaces(work.made, true)));
    return plan;
}

void Planner::revert() {
    (void)state_.change(last_after_, last_before_);
    had_anything_ = !state_.empty();
    last_before_ = last_after_ = {};
}

void Planner::reset(const Model& model) {
    const View view(model, options_);
    Contribution all;
    add_all(model.namespaces, view, all);
    add_all(model.networks, view, all);
    add_all(model.endpoints, view, all);
    add_all(model.routes, view, all);
    add_all(model.load_balancers, view, all);
    state_ = KernelState();
    (void)state_.change({}, all);
    had_anything_ = !state_.empty();
}

std::string Planner::all_rules() const { return state_.empty() ? remove_table() : whole_table(state_); }

}  // namespace porthole::hns::emulator
