#include "hns/emulator/data_plane/linux/kernel_state.h"

#include "base/result.h"

namespace porthole::hns::emulator {

namespace {

std::string key_of(const Element& element) { return element.set + '\n' + element.key; }
const std::string& text_of(const Element& element) { return element.data; }
const std::string& key_of(const Chain& chain) { return chain.name; }
const std::string& text_of(const Chain& chain) { return chain.rules; }
const std::string& key_of(const Fixture& fixture) { return fixture.key; }
std::string text_of(const Fixture& fixture) { return fixture.place + '\n' + fixture.make; }

}  // namespace

template <class T>
std::vector<Difference<T>> KernelState::change(Things<T>& things, const std::vector<T>& before, const std::vector<T>& after) {
    const auto current = [&](const std::string& key) -> std::optional<T> {
        const auto found = things.find(key);
        if (found == things.end()) return std::nullopt;
        return found->second.variants.begin()->second.first;
    };
    std::map<std::string, std::optional<T>> touched;
    const auto touch = [&](const T& thing) {
        const auto [position, fresh] = touched.try_emplace(key_of(thing));
        if (fresh) position->second = current(position->first);
    };
    for (const T& thing : after) {
        touch(thing);
        auto& [kept, count] = things[key_of(thing)].variants[text_of(thing)];
        if (count++ == 0) kept = thing;
    }
    for (const T& thing : before) {
        touch(thing);
        const auto found = things.find(key_of(thing));
        CHECK(found != things.end());
        const auto variant = found->second.variants.find(text_of(thing));
        CHECK(variant != found->second.variants.end());
        if (--variant->second.second == 0) found->second.variants.erase(variant);
        if (found->second.variants.empty()) things.erase(found);
    }
    std::vector<Difference<T>> differences;
    for (auto& [key, was] : touched) {
        std::optional<T> is = current(key);
        if (was.has_value() == is.has_value() && (!was || text_of(*was) == text_of(*is))) continue;
        differences.push_back({std::move(was), std::move(is)});
    }
    return differences;
}

StateDelta KernelState::change(const Contribution& before, const Contribution& after) {
    return {.elements = change(elements_, before.elements, after.elements),
            .chains = change(chains_, before.chains, after.chains),
            .fixtures = change(fixtures_, before.fixtures, after.fixtures)};
}

template <class T>
std::vector<T> KernelState::effective(const Things<T>& things) {
    std::vector<T> all;
    all.reserve(things.size());
    for (const auto& [key, counted] : things) all.push_back(counted.variants.begin()->second.first);
    return all;
}

std::vector<Element> KernelState::elements() const { return effective(elements_); }
std::vector<Chain> KernelState::chains() const { return effective(chains_); }
std::vector<Fixture> KernelState::fixtures() const { return effective(fixtures_); }

}  // namespace porthole::hns::emulator
