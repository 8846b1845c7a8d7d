// What machines say of themselves, and the descriptions that name them.
#include <algorithm>

#include "fuzz_target.h"
#include "local_cluster/description/description.h"
#include "local_cluster/system_unit.h"
#include "provision/admin_credentials.h"
#include "provision/control_plane_description.h"
#include "provision/etcd_certificates.h"
#include "provision/etcd_files.h"
#include "provision/machine_description.h"
#include "provision/remote_script.h"
#include "provision/server_files.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

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

// What `up` makes of a description.
FUZZ_TARGET(cluster_description_fuzz) {
    local_cluster::ClusterOptions options;
    if (!local_cluster::read_description(text, options)) return;
    expect(options.port > 0);
    expect(options.wine_root.empty() || options.wine_root.starts_with('/'));
    for (const auto& node : options.windows_nodes) expect(local_cluster::check_wine_root_text(node.wine_root).has_value());
}

// The unit of a server is one command, whatever the description contains.
FUZZ_TARGET(control_plane_description_fuzz) {
    const auto plane = provision::read_control_plane(text, {.folder = "/f", .home = "/h"});
    if (!plane || !*plane) return;
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    const auto lines = [](const std::string& unit) { return std::ranges::count(unit, '\n'); };
    static const auto authority = provision::new_etcd_authority(SystemTime());
    const auto etcd_unit = [](const provision::ControlPlaneDescription& of, const provision::MachineDescription& host) {
        return provision::etcd_files(of, host, authority, {}).at(PORTHOLE_ETCD_UNIT);
    };
    provision::ControlPlaneDescription plain;
    plain.own_etcd.emplace();
    const auto usual_etcd = lines(etcd_unit(plain, {}));
    const auto usual = lines(local_cluster::SystemUnit::server({"server"}).text());
    expect((*plane)->kubeconfig.starts_with('/') && !(*plane)->hosts.empty());
    for (const auto& host : (*plane)->hosts) {
        expect(!host.ssh.address.starts_with('-') && !host.ssh.user.starts_with('-'));
        const auto made = provision::server_files(files, **plane, host);
        if ((*plane)->own_etcd) expect(lines(etcd_unit(**plane, host)) == usual_etcd);
        if (made) expect(lines(made->at("porthole-server.service")) == usual);  // otherwise a file is not there
    }
}

// The kubeconfig that a server's machine prints.
FUZZ_TARGET(server_credentials_fuzz) {
    const auto found = provision::parse_credentials(std::string(text));
    if (!found) return;
    expect(text.size() <= 64 << 10);
    expect(!found->ca_pem.empty() && !found->certificate_pem.empty() && !found->key_pem.empty());
}
