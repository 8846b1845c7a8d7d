#pragma once
#include <optional>
#include <span>

#include "cmd/self_check/finding.h"
#include "cmd/self_check/machine.h"

namespace porthole::cmd::self_check {

/// The probe of an assumption; null for one that no area of areas.def has.
const Probe* find_probe(const Assumption& assumption);
/// The assumption ids of all probes, "area/id", in the order of areas.def.
std::vector<std::string> probed();

/// Whether this program runs under Wine; programs see it under Wine alone.
bool is_wine();

/// Makes an empty folder for the probe, lets it look, and removes the folder. Not run without what the assumption needs.
Finding check(RealWorld& world, const Assumption& assumption, const std::vector<std::string>& part_command);

/// In a process that a probe has started: plays the part that the end of its arguments names, and returns the exit code. nullopt in any
/// other process.
std::optional<int> play_part(std::span<const std::string> arguments);

}  // namespace porthole::cmd::self_check
