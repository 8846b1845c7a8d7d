#pragma once
#include <memory>
#include <string>

#include "apiserver/audit/auditor.h"
#include "apiserver/audit/rotating_file.h"
#include "base/log.h"
#include "runtime/scope.h"
#include "runtime/worker_pool.h"

namespace porthole::apiserver {

/// Writes the audit log's lines in order, by the pool. Lives on the loop.
///
/// A request never waits for the disk: lines wait in memory; beyond `MostWaiting` bytes, further ones are dropped, counted, and reported in
/// the program's log, as upstream's batching back end does.
class AuditLog final : public AuditBackend {
public:
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        Logger log;
    };
    static constexpr std::size_t MostWaiting = 16 << 20;  ///< bytes

    /// Error: Io if the file cannot be written.
    static Result<std::unique_ptr<AuditLog>> open(Seams seams, RotatingFile::Options options);

    void add(const std::string& line) override;
    std::vector<Lost> lost() const override { return {{"log", lost_}}; }
    /// Writes queued lines. Nothing is added afterwards.
    Task<> close();

private:
    AuditLog(Seams seams, std::unique_ptr<RotatingFile> file);
    Task<> write_waiting();

    Seams seams_;
    std::unique_ptr<RotatingFile> file_;
    std::string waiting_;
    std::size_t waiting_lines_ = 0;
    std::size_t dropped_ = 0;  ///< lines dropped since the last one that was accepted
    std::uint64_t lost_ = 0;   ///< dropped, or not written
    bool writing_ = false;
    Scope scope_;
};

}  // namespace porthole::apiserver
