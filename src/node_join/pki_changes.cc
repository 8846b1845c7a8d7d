#include "node_join/pki_changes.h"

namespace porthole::node_join {

PkiChanges::Look PkiChanges::look() {
    Look look{.at = clock_.now(), .found = {}};
    const auto names = files_.list(folder_);
    if (!names) return look;
    for (const std::string& name : *names) {
        const auto status = files_.status(folder_ + "/" + name);
        look.found[name] = status ? FileState{status->size, status->inode, status->modified} : FileState();
    }
    return look;
}

bool PkiChanges::due() {
    looked_ = look();
    if (looked_.found.empty() || looked_.found != taken_.found || looked_.at >= taken_.at + Longest) return true;
    for (const auto& [name, state] : looked_.found)
        if (state.modified + Settling > clock_.wall_now()) return true;
    return false;
}

}  // namespace porthole::node_join
