// What machines say of themselves, and the descriptions that name them.
#include <algorithm>

#include "fuzz_target.h"
#include "provision/machine_description.h"
#include "provision/remote_script.h"

using namespace porthole;
using namespace porthole::fuzz;

FUZZ_TARGET(machine_answers_fuzz) {
    const auto answers = provision::parse_answers(text);
    expect(answers.size() <= 50);
    for (const auto& [key, value] : answers)
        expect(std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }));
}

// What is accepted is safe as an argument of ssh, and the inventory keeps it.
FUZZ_TARGET(machine_description_fuzz) {
    const auto machines = provision::read_machines(text, {.folder = "/f", .home = "/h"});
    if (!machines) return;
    for (const auto& machine : *machines) {
        expect(!machine.ssh.address.empty() && !machine.ssh.address.starts_with('-'));
        expect(!machine.ssh.user.empty() && !machine.ssh.user.starts_with('-'));
        for (const auto& path : {machine.ssh.identity_file, machine.ssh.known_hosts}) expect(path.empty() || path.starts_with('/'));
        const auto kept = provision::from_pool(provision::to_pool(machine));
        expect(kept && *kept == machine);
    }
}
