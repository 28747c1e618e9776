// SPDX-License-Identifier: Apache-2.0
package airbound.benchmark.jvm;

import airbound.benchmark.http.Addresses;
import airbound.benchmark.http.ByteServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code airbound-benchmark serve}. */
@Command(
    name = "serve",
    description = "Answers HTTP requests with one byte, for a benchmark on another machine.",
    mixinStandardHelpOptions = true)
final class ServeCommand implements Callable<Integer> {
  @Option(
      names = "--listen",
      description = "Address and port; the default is ${DEFAULT-VALUE}: all addresses.",
      defaultValue = "0.0.0.0:8080")
  private String listen;

  @Override
  public Integer call() throws IOException, InterruptedException {
    InetSocketAddress address = Addresses.parse(listen);
    try (ByteServer server =
        new ByteServer(new InetSocketAddress(address.getHostString(), address.getPort()))) {
      System.out.println("listening on " + server.address());
      new CountDownLatch(1).await();
    }
    return 0;
  }
}
