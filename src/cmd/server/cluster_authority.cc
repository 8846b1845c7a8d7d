#include "cmd/server/cluster_authority.h"

#include <algorithm>

#include "node_join/ca_rotation.h"
#include "schema/json/json.h"

namespace porthole::cmd {

Result<void> check_authority(std::string_view root_ca, const std::string& own_pem) {
    const auto map = schema::parse_json(root_ca);
    if (!map) return {};
    const auto theirs = node_join::authority_ids(std::string(map->string_at({"data", "ca.crt"})));
    const auto own = node_join::authority_ids(own_pem);
    if (!theirs || theirs->empty() || !own || std::ranges::find_first_of(*theirs, *own) != theirs->end()) return {};
    return Error(Reason::Conflict, "etcd has another cluster: its authority is sha256:" + theirs->front() +
                                       ", and this server's is sha256:" + own->front() +
                                       ". Correct --etcd-servers and --etcd-prefix, or name a data directory that has the authorities of "
                                       "that cluster with --data");
}

}  // namespace porthole::cmd
