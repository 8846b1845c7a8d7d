#pragma once
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "hns/emulator/model/model.h"
#include "runtime/files/file_system.h"

namespace porthole::hns::emulator {

/// Every object that differs between two models.
Changes difference(const Model& before, const Model& after);
/// The model after a restart of the service: networks that are not persistent are removed, with their endpoints.
Model after_service_restart(const Model& model);
/// And when the host does: namespaces are removed as well.
Model after_reboot(const Model& model);
/// Removes references to objects that do not exist.
void drop_dangling_references(Model& model);

/// The model on disk, one file per object: `<folder>/endpoints/<id>.json`, replaced atomically. Load balancers and remote endpoints of the
/// last seconds may be lost in a power failure. Objects that do not survive a restart of the service are never written. Short blocking
/// calls. Errors: those of FileSystem.
class ObjectStore {
public:
    ObjectStore(FileSystem& files, std::string folder, Logger log) : files_(files), folder_(std::move(folder)), log_(std::move(log)) {}

    /// Reads the stored model; damaged files are left out and logged. Load balancers are marked as rehydrated.
    Result<Model> load();
    /// Writes and removes changed objects. After a failure some may be written.
    Result<void> save(const Model& model, const Changes& changes);

private:
    template <class T>
    Result<void> load_table(const std::string& name, Table<T>& table);
    template <class T>
    Result<void> save_table(const std::string& name, const Model& model, const Table<T>& table, const std::vector<std::string>& ids);

    FileSystem& files_;
    std::string folder_;
    Logger log_;
};

}  // namespace porthole::hns::emulator
