#include "local_cluster/next_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::local_cluster {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(NextSteps, OfARunningClusterAreToUseAndToEndIt) {
    const std::string text = next_steps(DataDir("/srv/dev"), {.running = true});
    EXPECT_THAT(text, HasSubstr("kubectl --context porthole get nodes\n"));
    EXPECT_THAT(text, HasSubstr("porthole down --data /srv/dev\n"));
    EXPECT_THAT(text, HasSubstr("porthole kubeconfig --data /srv/dev"));
    EXPECT_THAT(text, HasSubstr("porthole sample web --data /srv/dev\n"));
    EXPECT_THAT(next_steps(DataDir("/srv/dev"), {.running = true}, "build/porthole"), HasSubstr("end it:  build/porthole down"));
}

TEST(NextSteps, AfterUpTellTheUserOfSudoHowToReachTheCluster) {
    EXPECT_EQ(up_notes(DataDir("/srv/dev"), "porthole", ""),
              "see it work:  porthole sample web --data /srv/dev\nmore:  porthole status --data /srv/dev\n");
    EXPECT_THAT(up_notes(DataDir("/srv/dev"), "porthole", "ana"),
                HasSubstr("for kubectl of ana:  sudo porthole kubeconfig --data /srv/dev > "));
}

TEST(NextSteps, OfAStoppedClusterAreToStartOrToDeleteIt) {
    EXPECT_EQ(next_steps(DataDir("/srv/dev"), {}),
              "start it:  porthole up --data /srv/dev\nor delete it:  porthole down --purge --data /srv/dev\n");
}

TEST(NextSteps, NameTheNodeThatIsNotReady) {
    const std::string text = next_steps(DataDir("/srv/dev"), {.running = true, .first_not_ready = "linux-2"});
    EXPECT_THAT(text, HasSubstr("describe node linux-2"));
    EXPECT_THAT(text, HasSubstr("/srv/dev/logs"));
}

TEST(NextSteps, NameTheLogOfAProcessThatHasEnded) {
    const std::string text =
        next_steps(DataDir("/srv/dev"), {.running = true, .first_not_ready = "linux-1", .process_not_running = "linux-1/agent"});
    EXPECT_THAT(text, HasSubstr("/srv/dev/logs/linux-1-agent.log"));
}

TEST(NextSteps, OfAForeignClusterDoNotUseOurContext) {
    const std::string text = next_steps(DataDir("/srv/dev"), {.running = true, .foreign = true, .first_not_ready = "desk-windows-1"});
    EXPECT_THAT(text, Not(HasSubstr("--context")));
    EXPECT_THAT(text, HasSubstr("porthole winnode leave --data /srv/dev"));
}

TEST(ServerNotes, SayHowToUseItAndHowEitherSystemJoins) {
    EXPECT_EQ(server_notes(DataDir("/srv/dev"), "https://10.0.0.5:6443", "sha256:00"),
              "administrator:       kubectl --kubeconfig /srv/dev/admin.kubeconfig get nodes\n"
              "token for a node:    porthole token create --data /srv/dev\n"
              "join, on Linux:      porthole join https://10.0.0.5:6443 --token <token> --ca-cert-hash sha256:00\n"
              "join, on Windows:    porthole.exe join https://10.0.0.5:6443 --token <token> --ca-cert-hash sha256:00\n");
}

}  // namespace
}  // namespace porthole::local_cluster
