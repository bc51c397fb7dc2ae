import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/** Serves a Solr home on a port until standard input ends: java -cp 'lib/*' StartSolr.java HOME PORT */
class StartSolr {
    public static void main(String[] arguments) throws Exception {
        String home = arguments[0];
        JettyConfig config = JettyConfig.builder().setContext("/solr").setPort(Integer.parseInt(arguments[1])).build();
        JettySolrRunner runner = new JettySolrRunner(home, config);
        runner.start();
        Files.createFile(Path.of(home, "started"));
        System.in.read();
        runner.stop();
        System.exit(0);
    }
}
