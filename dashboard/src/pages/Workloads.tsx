export default function Workloads() {
  return <p>Workloads</p>;
}
