export default function Experiments() {
  return <p>Experiments</p>;
}
