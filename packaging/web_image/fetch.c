/* A client for containers that have none: fetch http://HOST[:PORT][/PATH] prints the body of the answer. */
#include "http_get.h"
#include "platform.h"

int main(int count, char** words) {
    if (count != 2) {
        fprintf(stderr, "usage: fetch http://HOST[:PORT][/PATH]\n");
        return 2;
    }
    start_sockets();
    return http_get(words[1], stdout);
}
